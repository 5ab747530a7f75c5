"""Functions of doubles with the bits of Java's StrictMath."""
