"""Where many pieces of work are done: processes of this machine, a Kubernetes cluster, Dask or Ray."""
