"""What the workers of a query really hold under a memory limit, sampled from outside, and what the limit costs."""
