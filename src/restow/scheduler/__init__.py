"""A scheduler that runs: the cluster in step with its API server, one decision after the other, several binds at a time."""
