"""What should move: strategies suggest, the arbiter decides, the plan tells."""
