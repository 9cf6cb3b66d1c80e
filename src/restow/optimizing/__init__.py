"""Assigns processes to machines so that a cost falls: the search core of the joint planner, without I/O.

It knows numbers, not Kubernetes. A `ReassignmentProblem` is arrays (a pod is a process, a node a machine), an `Objective` says what
an assignment costs, and `search` finds a better assignment that keeps every rule. docs/designs/0008-the-planners-search.md
says why it is made like this.
"""
