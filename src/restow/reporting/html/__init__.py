"""Plans, simulations and node pressure as self-contained pages: readable without a network and without JavaScript."""
