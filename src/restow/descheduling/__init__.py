"""Decides which pods move: strategies suggest, the arbiter decides, and the plan says what was decided."""
