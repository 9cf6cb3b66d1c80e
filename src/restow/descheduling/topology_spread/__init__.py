"""Topology spread constraints as the Descheduler reads them: which there are, whom they count, how many must leave."""
