"""What a running restow is made of: flags, logs, traces, the loop."""
