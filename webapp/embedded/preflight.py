"""What can be known to go wrong before anything is started, each as one sentence."""

import shutil
import socket

from webapp.embedded import postgres
from webapp.embedded.installation import Installation, port_variable
from webapp.embedded.paths import CannotStart

_LEAST_FREE_MB = 300


def check(installation: Installation) -> None:
    """Raise CannotStart for the first thing that stands in the way."""
    installation.make()
    _check_disk(installation)
    for name, port in installation.ports.items():
        _check_port(installation.host, name, port)
    if installation.own_database:
        postgres.as_owner()
        postgres.prepare(installation.var)


def _check_disk(installation: Installation) -> None:
    free_mb = shutil.disk_usage(installation.var).free >> 20
    if free_mb < _LEAST_FREE_MB:
        raise CannotStart(
            f"Only {free_mb} MB are free on the disk of {installation.var}; at least "
            f"{_LEAST_FREE_MB} MB are needed. Free some, or set INFEROMETER_VAR to another disk."
        )


def _check_port(host: str, name: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CannotStart(
                f"Port {port} ({name}) on {host} cannot be taken ({error.strerror}); "
                f"stop what uses it, or set {port_variable(name)} to another port."
            ) from error
