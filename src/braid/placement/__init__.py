"""Where a row is stored and which units a probe visits."""
