"""Merging blocks inside a task: each slot rewrites the rows of its own units as sorted blocks."""
