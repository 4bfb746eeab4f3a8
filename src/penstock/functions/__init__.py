"""Functions in Python that transform samples: what each gets, its random numbers, and the processes that run it."""
