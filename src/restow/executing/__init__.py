"""Carries out a decided cycle: chooses the next move, evicts, and follows the replacement."""
