"""How a plan is chosen: keys, ranges, time bounds, join sequences, strategies."""
