"""Programs that run rivals in environments of their own; they know nothing of Penstock."""
