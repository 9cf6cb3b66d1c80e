"""The front door: clusters, plans, schedules and simulations as values. ``import restow`` offers them by name."""
