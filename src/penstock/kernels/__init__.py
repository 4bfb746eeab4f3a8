"""Triton decoders for Weir and L3 that run on an accelerator, directly from the bytes of the files."""
