"""What runs on the accelerator. Untyped, because the values get their types while Triton traces them."""
