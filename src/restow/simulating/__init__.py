"""A cluster in virtual time: an API server's objects, the controllers, the nodes, schedulers and deschedulers."""
