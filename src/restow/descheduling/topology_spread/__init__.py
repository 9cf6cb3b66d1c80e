"""Topology spread constraints as the Descheduler reads them: which there are, which pods they count, how many must leave."""
