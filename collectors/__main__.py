"""Starts the collector: `python -m collectors --server engine=http://127.0.0.1:8100`."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path

import uvicorn

from collectors.exporter import Exporter
from collectors.gateway.proxy import Gateway
from collectors.gateway.targets import Targets
from collectors.spool import Spool

_SERVICE = "inferometer-gateway"


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM or Ctrl-C."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        spool = Spool(options.spool)
    except OSError as error:
        print(
            f"collectors: the spool folder {options.spool} cannot be used ({error.strerror}); "
            "name another with --spool.",
            file=sys.stderr,
        )
        return 1
    exporter = Exporter(
        spool,
        endpoint=options.otlp_endpoint,
        key=options.otlp_key,
        resource={"service.name": _SERVICE},
    )
    targets = Targets(dict(options.server), inventory=options.servers_from, key=options.api_key)
    exporter.start()
    gateway = Gateway(targets, exporter.keep, key=options.key)
    try:
        uvicorn.run(
            gateway.app(),
            host=options.host,
            port=options.port,
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=2,
        )
    finally:
        exporter.stop()
    return 0


def _parser() -> argparse.ArgumentParser:
    env = os.environ.get
    parser = argparse.ArgumentParser(
        prog="python -m collectors",
        description="Pass calls on to inference servers, and time every token.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=8200)
    add(
        "--server",
        type=_named_url,
        action="append",
        default=[],
        metavar="NAME=URL",
        help="a server by name; may be given several times",
    )
    add(
        "--servers-from",
        default="",
        help="URL of the server list, as in http://127.0.0.1:8000/api/v1/servers",
    )
    add("--otlp-endpoint", default=env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:8000"))
    add("--otlp-key", default=env("INFEROMETER_OTLP_KEY", ""), help="key that may ingest")
    add("--api-key", default=env("INFEROMETER_API_KEY", ""), help="key that may read the list")
    add("--key", default=env("INFEROMETER_GATEWAY_KEY", ""), help="key that callers must send")
    add("--spool", type=Path, default=Path("var/spool/gateway"))
    return parser


def _named_url(text: str) -> tuple[str, str]:
    name, _, url = text.partition("=")
    if not name or not url.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"must be NAME=http://HOST:PORT, not {text}")
    return name, url


if __name__ == "__main__":
    sys.exit(main())
