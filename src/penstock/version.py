"""The version, where every layer may look it up; pyproject.toml says the same."""

__version__ = "0.1.0"
