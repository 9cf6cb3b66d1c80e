"""Where many pieces of work are made."""
