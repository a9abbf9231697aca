"""The engine's counters, gauges and histograms, under vLLM's own names and meanings.

What ends a request adds its numbers here from the same record that becomes its span, so the
counters equal the sums over spans, aborted requests included.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_SECONDS = (
    (0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680)
)  # fmt: skip
_TTFT = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
    1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
)  # fmt: skip
_GAPS = (
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
)  # fmt: skip
_STEP_TOKENS = tuple(float(n) for n in (1, 8, *(16 << i for i in range(11))))

FINISHED_REASONS = ("stop", "length", "abort", "error")


class Histogram:
    """Cumulative buckets as Prometheus wants them."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        return sum(self.counts)


def token_bounds(longest: int) -> tuple[float, ...]:
    """1, 2, 5, 10, 20, 50 … up to the model's length."""
    bounds: list[float] = []
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power > longest:
                return tuple(bounds)
            bounds.append(float(factor * power))
        power *= 10


@dataclass(frozen=True)
class CallFigures:
    """What one ended request adds."""

    finished_reason: str
    prompt_tokens: int
    output_tokens: int
    max_tokens: int
    num_choices: int
    e2e_s: float
    queue_s: float | None
    prefill_s: float | None
    decode_s: float | None


@dataclass
class Gauges:
    """The state at the moment of reading."""

    running: int = 0
    waiting: int = 0
    kv_usage: float = 0.0


@dataclass
class EngineMetrics:
    """Everything `/metrics` shows. Written by the engine's threads, read by the server."""

    model_name: str
    max_model_len: int
    cache_info: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        lengths = token_bounds(self.max_model_len)
        self.counters = dict.fromkeys(_COUNTERS, 0)
        self.finished = dict.fromkeys(FINISHED_REASONS, 0)
        self.histograms = {
            "time_to_first_token_seconds": Histogram(_TTFT),
            "inter_token_latency_seconds": Histogram(_GAPS),
            "request_time_per_output_token_seconds": Histogram(_GAPS),
            "e2e_request_latency_seconds": Histogram(_SECONDS),
            "request_queue_time_seconds": Histogram(_SECONDS),
            "request_prefill_time_seconds": Histogram(_SECONDS),
            "request_decode_time_seconds": Histogram(_SECONDS),
            "request_inference_time_seconds": Histogram(_SECONDS),
            "iteration_tokens_total": Histogram(_STEP_TOKENS),
            "request_prompt_tokens": Histogram(lengths),
            "request_generation_tokens": Histogram(lengths),
            "request_params_max_tokens": Histogram(lengths),
            "request_params_n": Histogram((1, 2, 5, 10, 20)),
        }

    def add(self, name: str, amount: int = 1) -> None:
        with self._lock:
            self.counters[name] += amount

    def observe(self, name: str, values: Iterable[float]) -> None:
        with self._lock:
            histogram = self.histograms[name]
            for value in values:
                histogram.observe(value)

    def call_ended(self, call: CallFigures) -> None:
        """Count one finished or aborted request."""
        with self._lock:
            self.finished[call.finished_reason] += 1
            seen = self.histograms
            seen["e2e_request_latency_seconds"].observe(call.e2e_s)
            seen["request_prompt_tokens"].observe(call.prompt_tokens)
            seen["request_generation_tokens"].observe(call.output_tokens)
            seen["request_params_max_tokens"].observe(call.max_tokens)
            seen["request_params_n"].observe(call.num_choices)
            if call.queue_s is not None:
                seen["request_queue_time_seconds"].observe(call.queue_s)
            if call.prefill_s is None or call.decode_s is None:
                return
            seen["request_prefill_time_seconds"].observe(call.prefill_s)
            seen["request_decode_time_seconds"].observe(call.decode_s)
            seen["request_inference_time_seconds"].observe(call.prefill_s + call.decode_s)
            per_token = call.decode_s / (call.output_tokens - 1) if call.output_tokens > 1 else 0.0
            seen["request_time_per_output_token_seconds"].observe(per_token)

    def mean_e2e_s(self) -> float | None:
        """Mean duration of the requests that ended so far; None before the first."""
        with self._lock:
            ended = self.histograms["e2e_request_latency_seconds"]
            return ended.sum / ended.count if ended.count else None

    def render(self, gauges: Gauges, *, telemetry_dropped: int = 0) -> str:
        """The page in Prometheus text format."""
        with self._lock:
            self.counters["inferometer:telemetry_dropped"] = telemetry_dropped
            return "".join(self._lines(gauges))

    def _lines(self, gauges: Gauges) -> Iterable[str]:
        labels = f'engine="0",model_name="{_escaped(self.model_name)}"'
        for name, (value, text) in _gauge_values(gauges).items():
            yield _head(f"vllm:{name}", "gauge", text)
            yield f"vllm:{name}{{{labels}}} {value}\n"
        for name, value in self.counters.items():
            full = name if ":" in name else f"vllm:{name}"
            yield _head(f"{full}_total", "counter", _COUNTERS[name])
            yield f"{full}_total{{{labels}}} {value}\n"
        yield _head("vllm:request_success_total", "counter", "Requests that ended, by reason.")
        for reason, count in self.finished.items():
            yield (f'vllm:request_success_total{{{labels},finished_reason="{reason}"}} {count}\n')
        for name, histogram in self.histograms.items():
            yield _head(f"vllm:{name}", "histogram", name.replace("_", " ") + ".")
            yield from _histogram_lines(f"vllm:{name}", labels, histogram)
        info = "".join(f',{key}="{_escaped(text)}"' for key, text in self.cache_info.items())
        yield _head("vllm:cache_config_info", "gauge", "The block cache's configuration.")
        yield f'vllm:cache_config_info{{engine="0"{info}}} 1\n'


_COUNTERS = {
    "prompt_tokens": "Prompt tokens, cached ones included, counted at the first output.",
    "generation_tokens": "Output tokens.",
    "prefix_cache_queries": "Prompt tokens looked up in the prefix cache.",
    "prefix_cache_hits": "Prompt tokens found in the prefix cache.",
    "prompt_tokens_cached": "Prompt tokens that were not computed because they were cached.",
    "num_preemptions": "Times a running request lost its blocks and was queued again.",
    "inferometer:requests_rejected": "Requests refused because the queue was full.",
    "inferometer:busy_microseconds": "Time spent in steps.",
    "inferometer:steps": "Steps run.",
    "inferometer:telemetry_dropped": "Telemetry records that could not be kept.",
}


def _gauge_values(gauges: Gauges) -> dict[str, tuple[float, str]]:
    return {
        "num_requests_running": (gauges.running, "Requests being computed."),
        "num_requests_waiting": (gauges.waiting, "Requests waiting to be computed."),
        "kv_cache_usage_perc": (gauges.kv_usage, "Share of cache blocks in use; 1 is all."),
    }


def _histogram_lines(name: str, labels: str, histogram: Histogram) -> Iterable[str]:
    running = 0
    for bound, count in zip(histogram.bounds, histogram.counts, strict=False):
        running += count
        yield f'{name}_bucket{{{labels},le="{float(bound)}"}} {running}\n'
    yield f'{name}_bucket{{{labels},le="+Inf"}} {histogram.count}\n'
    yield f"{name}_count{{{labels}}} {histogram.count}\n"
    yield f"{name}_sum{{{labels}}} {histogram.sum}\n"


def _head(name: str, kind: str, text: str) -> str:
    return f"# HELP {name} {text}\n# TYPE {name} {kind}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
