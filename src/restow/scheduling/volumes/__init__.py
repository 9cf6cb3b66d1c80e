"""Claims, volumes and classes, as the plugins for volumes see them."""
