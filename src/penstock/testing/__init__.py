"""Test suites that ship with Penstock, for a third party's codec or cache."""
