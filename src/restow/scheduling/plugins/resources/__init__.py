"""What the plugins for resources share."""
