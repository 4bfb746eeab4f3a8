"""Decoders that run on an accelerator: Weir and L3, straight from the bytes of the files, in Triton."""
