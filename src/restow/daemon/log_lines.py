"""The lines that operators search for: the Descheduler's own texts, keys and verbosities.

Source: Descheduler 0.36, packages evictions, descheduler and framework/profile.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final, Literal

from restow.daemon.logs import Log, Ref

ExtensionPoint = Literal["Deschedule", "Balance"]

_EXTENSION_POINT: Final = "extension point"

#: The verbosity of records below a warning.
_DETAILS: Final = 5


# Otherwise Python would print it to stderr in a form of its own, with tracebacks. Set up when a run starts, not by
# importing.
class LibraryRecords(logging.Handler):
    """Writes the records of libraries to a log."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record: an exception in its own words, without a traceback."""
        message = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            self._log.error(message, f"{type(error).__name__}: {error}", logger=record.name)
        elif record.levelno >= logging.ERROR:
            self._log.error(message, message, logger=record.name)
        elif record.levelno >= logging.WARNING:
            self._log.warning(message)
        else:
            self._log.info(message, v=_DETAILS, logger=record.name)


def evicted(
    log: Log, pod: Ref, *, reason: str, strategy: str, node: str, profile: str, dry_run: bool = False, **more: object
) -> None:
    """Log that a pod was evicted, or in a dry run would have been; ``more`` follows upstream's keys."""
    message = "Evicted pod in dry run mode" if dry_run else "Evicted pod"
    log.info(message, v=1, pod=pod, reason=reason, strategy=strategy, node=node, profile=profile, **more)


def not_evicted(log: Log, pod: Ref, error: object, *, reason: str) -> None:
    """Log that the API server did not evict a pod."""
    log.error("Error evicting pod", error, pod=pod, reason=reason)


def requested(log: Log, pod: Ref) -> None:
    """Log that another component has accepted the request to evict a pod."""
    log.info("Eviction in background assumed", v=3, pod=pod)


def limit_reached(log: Log, sentence: str, limit: int, **where: object) -> None:
    """Log that a limit keeps a pod; ``where`` is the node, or the namespace and the pod."""
    log.error("Error evicting pod", sentence, limit=limit, **where)


def fails_checks(log: Log, pod: Ref, checks: Sequence[str]) -> None:
    """Log why the evictor keeps a pod."""
    text = checks[0] if len(checks) == 1 else f"[{', '.join(checks)}]"
    keys = {"plugin": "DefaultEvictor", "ExtensionPoint": "Filter", "pod": pod, "checks": text}
    log.info("Pod fails the following checks", v=4, **keys)


def cycle_begins(log: Log) -> None:
    """Log that the counters of evictions are reset."""
    log.info("Resetting pod evictor counters", v=3)


def strategy_done(log: Log, point: ExtensionPoint, evicted_pods: int, requests: int = 0) -> None:
    """Log how many evictions one strategy made."""
    keys: dict[str, object] = {_EXTENSION_POINT: point, "evictedPods": evicted_pods, "evictionRequests": requests}
    log.info("Total number of evictions/requests", v=1, **keys)


def strategy_failed(log: Log, point: ExtensionPoint, profile: str, strategy: str, error: object) -> None:
    """Log that a strategy could not work."""
    message = f"running {point.lower()} extension point failed with error"
    log.error(message, f'plugin "{strategy}" finished with error: {error}', profile=profile)


def cycle_skipped(log: Log, found: int) -> None:
    """Log that there are too few nodes to do anything."""
    log.info("Skipping descheduling cycle: requires >=2 nodes", found=found)


def cycle_done(log: Log, total_evicted: int, requests: int = 0) -> None:
    """Log how many evictions a cycle made."""
    log.info("Number of evictions/requests", v=1, totalEvicted=total_evicted, evictionRequests=requests)


def dry_run_done(log: Log, evicted_pods: int) -> None:
    """Log at any verbosity what a dry run is for; the Descheduler says it from -v 1 on."""
    log.info(f"Dry run: {evicted_pods} {'pod' if evicted_pods == 1 else 'pods'} would be evicted")


def serving(log: Log, address: str, port: int) -> None:
    """Log where the server listens."""
    host = f"[{address}]" if ":" in address else address
    log.info(f"Serving securely on {host}:{port}")


def candidate(log: Log, identity: str) -> None:
    """Log under which name this process applies for the lease."""
    log.info(f"Assigned unique lease holder id: {identity}", v=3)


def leading(log: Log) -> None:
    """Log that this process leads."""
    log.info("Started leading", v=1)


def leader_lost(log: Log) -> None:
    """Log that this process leads no more."""
    log.info("Leader lost", v=1)


def new_leader(log: Log, identity: str) -> None:
    """Log who leads."""
    log.info(f"New leader elected: {identity}", v=1)


def no_election_in_dry_run(log: Log) -> None:
    """Log that a dry run needs no lease."""
    log.info("Warning: DryRun is set to True. You need to disable it to use Leader Election.", v=1)


def failed(log: Log, error: object) -> None:
    """Log that the run ends with an error."""
    log.error("failed to run descheduler server", error)
    log.error("command failed", error)


def version_skew(log: Log, own: str, server: str) -> None:
    """Log that the API server is of a version that was not tried out."""
    log.warning(
        f"descheduler version {own} may not be supported on your version of Kubernetes {server}."
        "See compatibility docs for more info: "
        "https://github.com/kubernetes-sigs/descheduler#compatibility-matrix"
    )


def hear_libraries(log: Log) -> None:
    """From now on, write what libraries say to a log, and nowhere else."""
    root = logging.getLogger()
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    root.addHandler(LibraryRecords(log))
    root.setLevel(logging.INFO if log.enabled_for(_DETAILS) else logging.WARNING)
