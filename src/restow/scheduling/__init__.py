"""kube-scheduler's rules on a cluster state: where a pod would go, and why not elsewhere."""
