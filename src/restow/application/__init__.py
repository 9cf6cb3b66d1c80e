"""What commands do: read inputs, plan, explain, schedule, simulate, compare, apply. Returns results and prints nothing."""

from typing import Final

#: The lease that ``restow run`` holds where it evicts, and that ``restow apply`` takes: NAMESPACE/NAME.
LEASE: Final = "kube-system/descheduler"
