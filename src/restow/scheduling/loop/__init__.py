"""One pod after the other: what a scheduler decides, and what follows from it."""
