"""What was measured, for people and for programs: JSON, tables, plots, a page."""
