"""Where a cluster comes from: files, standard input, the synthetic generator."""
