"""Which nodes could win where the scheduler looks at some of them only, and how probable each is."""
