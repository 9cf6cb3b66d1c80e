"""What LowNodeUtilization and HighNodeUtilization share: usage, thresholds, and moving pods between two groups of nodes."""
