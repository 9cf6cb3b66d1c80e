"""What happened in a cluster, kept in files: written while it happens, and read again as a start and its changes."""
