"""From the flags of ``restow pressure`` to its exit status."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from restow.application.files import file_bytes, file_name
from restow.application.pressure import PrometheusAccess, mark_of, share_of
from restow.cli.daemon_process import HIGHEST_PORT, daemon_log, election_problems, lease_of, run_daemon
from restow.cli.pressure_flags import PressureFlags
from restow.daemon.connecting import ApiSettings
from restow.daemon.logs import Log
from restow.errors import InputError
from restow.kube.duration import SECOND, format_duration
from restow.kube.excerpts import excerpt
from restow.pressure.daemon import Listening, PressureDaemon, PressureSettings
from restow.pressure.evaluation import MissingDataPolicy
from restow.pressure.rules import read_rules
from restow.pressure.situation import Criteria
from restow.reporting.html.pressure import render_pressure
from restow.serving.server import ListenAddress
from restow.serving.tls import KeyPair


def label_by_rules(flags: PressureFlags) -> int:
    """Run as flags say; InputError for what cannot be used, else the exit status. What happens goes to the log."""
    log = daemon_log(flags.logging_format, flags.v)
    daemon = PressureDaemon(settings_of(flags, log), log, render_pressure)
    return run_daemon(daemon.run(), partial(log.error, "restow pressure failed"))


def settings_of(flags: PressureFlags, log: Log) -> PressureSettings:
    """Return the settings that flags ask for; the file's warnings go to the log."""
    for problem in election_problems(flags) if flags.leader_elect else ():
        raise InputError(problem)
    for name, span in (("interval", flags.interval), ("grace-period", flags.grace_period)):
        if span < 0 or (name == "interval" and not span):
            raise InputError(f"--{name} {format_duration(span)} is too short: it must be above 0s")
    most, mark = share_of(flags.max_share), mark_of(flags.label)
    file = read_rules(file_bytes(flags.rules), file_name(flags.rules))
    for warning in file.warnings:
        log.warning(str(warning))
    return PressureSettings(
        api=ApiSettings(kubeconfig=flags.kubeconfig),
        prometheus=_access(flags).endpoint(),
        criteria=Criteria(file.rules, mark, most, MissingDataPolicy(flags.grace_period, flags.after_grace)),
        interval=flags.interval / SECOND,
        dry_run=flags.dry_run,
        namespace=flags.leader_elect_resource_namespace,
        lease=lease_of(flags),
        listening=_listening(flags),
    )


def _access(flags: PressureFlags) -> PrometheusAccess:
    return PrometheusAccess(
        url=flags.prometheus_url,
        token_file=flags.prometheus_token_file,
        authorities=flags.prometheus_ca_file,
        certificate=flags.prometheus_cert_file,
        key=flags.prometheus_key_file,
        headers=tuple(flags.prometheus_header or ()),
    )


def _listening(flags: PressureFlags) -> Listening | None:
    if bool(flags.tls_cert_file) != bool(flags.tls_private_key_file):
        raise InputError("--tls-cert-file and --tls-private-key-file go together: one of them is missing")
    if not flags.listen:
        return None
    pair = None
    if flags.tls_cert_file and flags.tls_private_key_file:
        pair = KeyPair(Path(flags.tls_cert_file), Path(flags.tls_private_key_file))
    return Listening(endpoint=endpoint_of(flags.listen), certificate=pair)


def endpoint_of(text: str) -> ListenAddress:
    """Return where ``--listen`` means: ``:9000`` is port 9000 of every address."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > HIGHEST_PORT:
        raise InputError(f"--listen {excerpt(repr(text))} is no address such as :9000 or 127.0.0.1:9000")
    return ListenAddress(host.removeprefix("[").removesuffix("]") or _EVERY_ADDRESS, int(port), origin="--listen")


#: The kubelet, Prometheus and people come from outside.
_EVERY_ADDRESS: Final = "0.0.0.0"  # noqa: S104
