"""What happens in a simulation, when, and what is expected of it: files that people write, and verdicts."""
