"""Programs that load an epoch whenever a benchmark tells them to: Penstock, its upper bound, and rivals."""
