"""The scheduling cycle without I/O, for whoever carries it out: a daemon at an API server, a simulator in virtual time."""
