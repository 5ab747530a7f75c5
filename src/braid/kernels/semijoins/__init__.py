"""Semijoins on arrays: partial tuples, their tables, and what they leave of rows."""
