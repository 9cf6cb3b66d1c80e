"""What kube-controller-manager runs, one file each: every controller looks at the store and writes to it."""
