"""Partial totals, and how they change over result time."""
