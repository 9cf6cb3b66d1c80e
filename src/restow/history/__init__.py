"""What a descheduler did, in a file: cycles, moves and their results, so that a restart loses nothing."""
