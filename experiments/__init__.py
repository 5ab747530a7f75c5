"""What the papers claim, measured again on Braid: one folder a paper."""
