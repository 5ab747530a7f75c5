"""What is joined: seeded streams, and the question asked of them."""
