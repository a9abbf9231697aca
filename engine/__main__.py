"""Starts one engine: `python -m engine --model bundled --port 8100`."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import socket
import sys
from importlib.metadata import PackageNotFoundError, version

import psutil
import torch
import uvicorn

from engine.config import EngineConfig
from engine.engine import Engine
from engine.exporter import Exporter
from engine.loader import LoadedModel, ModelNotFound, ModelUnsupported, load
from engine.options import Options, parse
from engine.server import ServerOptions, build_app
from engine.spool import Spool, SpoolBusy
from engine.telemetry import Telemetry

log = logging.getLogger("engine")


class CannotStart(Exception):
    """One sentence for whoever started this."""


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM or Ctrl-C; 1 with a sentence on stderr when that cannot be."""
    options = parse(arguments)
    logging.basicConfig(
        level=options.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    # Request lines of the exporter and of weight downloads would drown the engine's own.
    for chatty in ("httpx", "httpcore", "transformers", "accelerate"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    try:
        _serve(options)
    except (CannotStart, ModelNotFound, ModelUnsupported, SpoolBusy) as error:
        print(f"engine: {error}", file=sys.stderr)
        return 1
    return 0


def _serve(options: Options) -> None:
    # Taken before the model is loaded: nobody should wait half a minute to hear it is not free.
    listener = _bind(options.host, options.port)
    torch.set_num_threads(options.threads or psutil.cpu_count(logical=False) or 1)
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    loaded = load(
        options.model,
        device=options.device,
        dtype=options.dtype,
        cache_dir=options.model_cache,
    )
    log.info("loaded %s on %s in %.1f s", loaded.name, loaded.device, loaded.load_s)
    engine = Engine(loaded, engine_config(options, loaded), _telemetry(options))
    app = build_app(engine, ServerOptions(_names(options, loaded), options.api_key))
    _run(app, listener, options)


def _run(app: object, listener: socket.socket, options: Options) -> None:
    config = uvicorn.Config(
        app,  # type: ignore[arg-type]
        log_level=options.log_level,
        access_log=False,
        timeout_graceful_shutdown=max(int(options.drain_s), 1) if options.drain_s else 0,
        timeout_keep_alive=75,
    )
    server = uvicorn.Server(config)
    # The server sends itself the signal again when it is done; ending well is not being killed.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    host, port = listener.getsockname()[:2]
    log.info("serving on http://%s:%d", host, port)
    try:
        asyncio.run(server.serve(sockets=[listener]))
    except KeyboardInterrupt:
        log.info("stopped")


def engine_config(options: Options, loaded: LoadedModel) -> EngineConfig:
    """Sizes of the cache and of a step, from what was asked and what the model needs."""
    num_blocks = options.num_blocks or _blocks_that_fit(options, loaded)
    longest = options.max_model_len or loaded.max_model_len
    return EngineConfig(
        block_size=options.block_size,
        num_blocks=num_blocks,
        max_num_seqs=options.max_num_seqs,
        max_batched_tokens=options.max_batched_tokens,
        max_model_len=min(longest, loaded.max_model_len, num_blocks * options.block_size),
        enable_chunked_prefill=options.chunked_prefill,
        enable_prefix_cache=options.prefix_cache,
        max_waiting=options.max_waiting,
    )


def _blocks_that_fit(options: Options, loaded: LoadedModel) -> int:
    element = torch.empty((), dtype=loaded.dtype).element_size()
    token_bytes = 2 * loaded.num_layers * loaded.num_kv_heads * loaded.head_dim * element
    return max((options.kv_cache_mb << 20) // (token_bytes * options.block_size), 8)


def _telemetry(options: Options) -> Telemetry:
    run_id = secrets.token_hex(8)
    if not options.otlp_endpoint:
        log.warning("no --otlp-endpoint: calls are served but not recorded")
        return Telemetry(run_id, None, None)
    try:
        spool = Spool(options.spool, max_bytes=options.spool_max_mb << 20)
    except OSError as error:
        raise CannotStart(
            f"The spool folder {options.spool} cannot be used ({error.strerror}); "
            "name another with --spool."
        ) from error
    exporter = Exporter(
        spool,
        endpoint=options.otlp_endpoint,
        key=options.otlp_key,
        resource={
            "service.name": options.server_name,
            "service.version": _version(),
            "service.instance.id": run_id,
            "inferometer.server": options.server_name,
        },
    )
    return Telemetry(run_id, spool, exporter)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise CannotStart(
            f"Port {port} on {host} cannot be taken ({error.strerror}); "
            "stop what uses it or choose another with --port."
        ) from error
    return listener


def _names(options: Options, loaded: LoadedModel) -> tuple[str, ...]:
    """The name answers carry first, then what else clients may ask for."""
    return tuple(dict.fromkeys((options.served_name or loaded.name, loaded.name, options.model)))


def _version() -> str:
    try:
        return version("inferometer")
    except PackageNotFoundError:
        return "0.1.0"


if __name__ == "__main__":
    sys.exit(main())
