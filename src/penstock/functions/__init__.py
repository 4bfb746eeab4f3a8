"""Python functions that transform samples: their inputs, their random numbers, and the processes that run them."""
