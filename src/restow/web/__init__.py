"""The pages of ``restow serve``: a cluster as it is, the plan of the next cycle, what if, and what was done."""
