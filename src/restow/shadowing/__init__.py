"""What becomes of evictions that others make: where their pods would land, where they did, and whether that was any use."""
