"""The pressure that nodes are under, measured rather than requested."""
