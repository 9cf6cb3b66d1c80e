"""The plan as one self-contained page: readable without a network and without JavaScript."""
