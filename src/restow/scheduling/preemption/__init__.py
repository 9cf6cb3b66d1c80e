"""Which pods a node would have to let go for a more important one."""
