"""Test suites that ship with Penstock, for codecs, stores and caches of third parties."""
