"""Do predictions hold, and does the plan choose well? See `__main__.py` for how it is run."""
