"""What earlier steps have observed of rows and partition groups, as the manifest records it."""
