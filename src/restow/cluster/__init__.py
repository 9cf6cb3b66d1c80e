"""One cluster in memory: columns, pod classes, workloads, disruption budgets."""
