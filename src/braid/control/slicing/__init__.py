"""Time slices: how they are divided among units, and cut."""
