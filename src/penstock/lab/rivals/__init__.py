"""Loaders and codecs of other projects, each with the settings that its authors recommend.

Modules here import the standard library, NumPy, Pillow and their rival, and each other only by relative imports. So
benchmarks can run them in an environment of the rival's own, where Penstock is not installed, as the package `rivals`.
"""
