"""Searches the settings of a policy that do best in simulated futures."""
