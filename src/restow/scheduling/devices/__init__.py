"""Devices: what claims ask for, who has what, and the search for the rest."""
