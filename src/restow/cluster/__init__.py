"""One cluster in memory: columns, pod shapes, workloads, disruption budgets, usage."""
