"""What commands do: read inputs, plan, explain, schedule, simulate, compare, apply. Returns results and prints nothing."""
