"""Benchmarks: Braid against its peers on the same files. Each run writes JSON into `results/`."""
