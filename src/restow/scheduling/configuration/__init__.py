"""KubeSchedulerConfiguration files: read, merge with the defaults, validate; what is left are scheduler profiles."""
