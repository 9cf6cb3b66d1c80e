"""The Kubernetes vocabulary, without I/O: objects, quantities, times, selectors, taints, requests, QoS."""
