"""Adapting state-intensive queries: partition groups, spills and relocations."""
