"""Experiments, one short file each; `table.py` lists them."""
