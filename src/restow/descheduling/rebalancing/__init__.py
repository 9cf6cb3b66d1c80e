"""The joint planner's view of a cluster: pods and nodes as processes and machines, its goals, and the order of moves."""
