"""Code that runs on the accelerator. It is untyped, because values get their types while Triton traces them."""
