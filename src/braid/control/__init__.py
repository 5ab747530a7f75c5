"""Controllers: statistics in, decisions out, no input or output of their own."""
