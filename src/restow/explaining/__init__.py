"""Why one pod stays or moves, and what one node has to do with a plan."""
