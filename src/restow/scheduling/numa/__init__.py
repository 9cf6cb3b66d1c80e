"""How kubelets align what a pod gets with NUMA nodes, and whether they take it. No scheduler of Kubernetes looks at that."""
