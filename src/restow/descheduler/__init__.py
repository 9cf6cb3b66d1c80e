"""The descheduler: its settings, cycles, reports, events and traces; and what ``restow apply`` shares with it."""
