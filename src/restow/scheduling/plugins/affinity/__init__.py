"""The terms of inter-pod affinity."""
