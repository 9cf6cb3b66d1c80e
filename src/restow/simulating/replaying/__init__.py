"""A recorded past as a scenario: what came from outside happens again, and everything else follows from it."""
