"""The command line of `python -m engine`. Every option can also come from the environment."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.loader import BUNDLED


@dataclass(frozen=True)
class Options:
    """What one engine process was asked to do. None means: decide from the model and machine."""

    model: str
    served_name: str | None
    device: str
    dtype: str
    host: str
    port: int
    api_key: str | None
    otlp_endpoint: str | None
    otlp_key: str | None
    server_name: str
    spool: Path
    spool_max_mb: int
    model_cache: Path
    threads: int | None
    max_num_seqs: int
    max_batched_tokens: int
    max_model_len: int | None
    max_waiting: int
    block_size: int
    num_blocks: int | None
    kv_cache_mb: int
    prefix_cache: bool
    chunked_prefill: bool
    drain_s: float
    log_level: str


def parse(arguments: Sequence[str] | None = None) -> Options:
    """Read the command line; argparse ends the process with a sentence on a bad value."""
    values = vars(_parser().parse_args(arguments))
    return Options(**values)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m engine",
        description="Serve one model over the OpenAI API, and time every token.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    _add_model(parser)
    _add_server(parser)
    _add_telemetry(parser)
    _add_batching(parser)
    return parser


def _add_model(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("model")
    group.add_argument(
        "--model",
        default=os.environ.get("INFEROMETER_ENGINE_MODEL", BUNDLED),
        help="bundled, tiny, a folder, a .gguf file, or a Hugging Face id",
    )
    group.add_argument("--served-name", default=None, help="name in answers; else the model's")
    group.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1 ...")
    group.add_argument(
        "--dtype", default="auto", choices=["auto", "float32", "bfloat16", "float16"]
    )
    group.add_argument(
        "--model-cache",
        type=Path,
        default=Path("var/models"),
        help="where converted models are kept",
    )
    group.add_argument(
        "--threads", type=_positive, default=None, help="compute threads; else physical cores"
    )


def _add_server(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("server")
    group.add_argument("--host", default="127.0.0.1")
    group.add_argument("--port", type=_port, default=8100)
    group.add_argument(
        "--api-key",
        default=os.environ.get("INFEROMETER_ENGINE_API_KEY") or None,
        help="clients must send it; also INFEROMETER_ENGINE_API_KEY",
    )
    group.add_argument(
        "--drain-s",
        type=_seconds,
        default=3.0,
        help="at SIGTERM, seconds to let running answers finish before they are cancelled",
    )
    group.add_argument("--log-level", default="info", choices=["debug", "info", "warning", "error"])


def _add_telemetry(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("telemetry")
    group.add_argument(
        "--otlp-endpoint",
        default=os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or None,
        help="base URL; without one no telemetry is kept; also OTEL_EXPORTER_OTLP_ENDPOINT",
    )
    group.add_argument(
        "--otlp-key",
        default=os.environ.get("INFEROMETER_OTLP_KEY") or None,
        help="bearer key; also INFEROMETER_OTLP_KEY",
    )
    group.add_argument("--server-name", default="engine", help="this server's name in telemetry")
    group.add_argument(
        "--spool",
        type=Path,
        default=Path("var/spool/engine"),
        help="folder that keeps telemetry until it is taken",
    )
    group.add_argument(
        "--spool-max-mb", type=_positive, default=256, help="past it the oldest telemetry goes"
    )


def _add_batching(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("batching")
    group.add_argument("--max-num-seqs", type=_positive, default=32, help="sequences in a step")
    group.add_argument(
        "--max-batched-tokens", type=_positive, default=1024, help="tokens in a step"
    )
    group.add_argument(
        "--max-model-len", type=_positive, default=None, help="prompt and answer together"
    )
    group.add_argument(
        "--max-waiting", type=_positive, default=512, help="queued calls before 429 is answered"
    )
    group.add_argument("--block-size", type=_positive, default=16, help="tokens in a cache block")
    group.add_argument("--num-blocks", type=_positive, default=None, help="cache blocks")
    group.add_argument(
        "--kv-cache-mb",
        type=_positive,
        default=1024,
        help="memory for the cache where --num-blocks is not given",
    )
    on_off = argparse.BooleanOptionalAction
    group.add_argument("--prefix-cache", action=on_off, default=True, help="reuse equal prefixes")
    group.add_argument(
        "--chunked-prefill", action=on_off, default=True, help="read long prompts in parts"
    )


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {text}")
    return value


def _port(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 65535:
        raise argparse.ArgumentTypeError(f"must be between 0 and 65535, not {text}")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < 86400:
        raise argparse.ArgumentTypeError(f"must be between 0 and a day, not {text}")
    return value
