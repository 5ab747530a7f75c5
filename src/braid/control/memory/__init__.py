"""More state than memory: which partition groups are spilled, and which move to another unit."""
