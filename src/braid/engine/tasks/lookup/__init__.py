"""Which probing rows a slot reads, which stored rows they visit, and what is exchanged between rounds."""
