"""What a running restow is made of: settings, logs, traces, the loop."""
