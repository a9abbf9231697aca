"""Drives the pure scheduler with a real model on a thread of its own, and measures every token.

Calls come in from any thread; what they make goes out through their listeners. The engine's thread
never waits for a client, a disk or a network.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable

from engine.accounting import StepCost, split_step
from engine.call import Admitted, Call, CallSpec, CallStatus, Listener, Refused, Text
from engine.config import EngineConfig
from engine.events import Event, Finished
from engine.loader import LoadedModel
from engine.metrics import EngineMetrics, Gauges
from engine.model_runner import ModelRunner, RunEntry
from engine.request import Request
from engine.sampler import Sampled, SampleRow
from engine.scheduler import PlanEntry, Scheduler, StepPlan
from engine.spans import figures_of, span_of
from engine.telemetry import Telemetry
from engine.text import TextStream, fast_decoder

log = logging.getLogger(__name__)


class Engine:
    """A model being served: submit calls, listen to what they make, shut it down."""

    def __init__(
        self, loaded: LoadedModel, config: EngineConfig, telemetry: Telemetry | None = None
    ) -> None:
        self.loaded = loaded
        self.config = config
        self.metrics = EngineMetrics(
            loaded.name,
            config.max_model_len,
            {
                "block_size": str(config.block_size),
                "num_gpu_blocks": str(config.num_blocks),
                "enable_prefix_caching": str(config.enable_prefix_cache),
            },
        )
        self.telemetry = telemetry or Telemetry(secrets.token_hex(8), None, None)
        self._scheduler = Scheduler(config)
        self._runner = ModelRunner(
            loaded, num_blocks=config.num_blocks, block_size=config.block_size
        )
        self._decoder = fast_decoder(loaded.tokenizer)
        self._cost = StepCost()
        self._calls: dict[str, Call] = {}
        self._inbox: deque[Callable[[], None]] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self._steps = 0
        self._gauges = Gauges()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def start(self) -> None:
        self.telemetry.start()
        self._thread.start()

    def submit(self, spec: CallSpec, listener: Listener) -> Call:
        """Queue a call. `listener` gets Admitted or Refused, then Text as it comes, then Done.

        It is called from the engine's threads and must return at once.
        """
        call = Call(
            secrets.token_hex(12),
            spec,
            TextStream(self._decoder, spec.stop),
            listener,
            mono_ns=time.monotonic_ns(),
            unix_ns=time.time_ns(),
        )
        self._post(lambda: self._admit(call))
        return call

    def cancel(self, call: Call, status: CallStatus = "cancelled") -> None:
        """End a call that nobody waits for any more; one that has ended already is left alone."""
        self._post(lambda: self._cut_short(call.request_id, status))

    def gauges(self) -> Gauges:
        """Running, waiting and the cache's use, as of the last step."""
        return self._gauges

    def metrics_page(self) -> str:
        return self.metrics.render(self._gauges, telemetry_dropped=self.telemetry.dropped)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive() and not self._stopping

    def shutdown(self) -> None:
        """Cancel what is in flight, each with its span, then write and send what is left."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()
        self.telemetry.close()

    # The engine's thread from here on.

    def _post(self, command: Callable[[], None]) -> None:
        with self._wake:
            self._inbox.append(command)
            self._wake.notify()

    def _run(self) -> None:
        while self._take_commands():
            try:
                self._step()
            except Exception:
                log.exception("a step failed; its calls end with an error")
                self._fail_all("The model failed while computing this answer.")
        self._take_over_at_end()

    def _take_commands(self) -> bool:
        """Do what was asked since the last step; sleep while there is nothing to compute."""
        while True:
            with self._wake:
                while not (self._inbox or self._stopping or self._scheduler.has_work):
                    self._wake.wait()
                if self._stopping:
                    return False
                commands, self._inbox = self._inbox, deque()
            for command in commands:
                command()
            self._note_gauges()
            if self._scheduler.has_work:
                return True

    def _take_over_at_end(self) -> None:
        for command in self._inbox:
            command()
        for request_id in list(self._calls):
            self._cut_short(request_id, "cancelled", "The server is shutting down.")

    def _admit(self, call: Call) -> None:
        spec = call.spec
        request = Request(
            request_id=call.request_id,
            prompt_token_ids=tuple(spec.prompt_token_ids),
            max_tokens=spec.max_tokens,
            eos_ids=frozenset(self.loaded.eos_ids),
            stop_token_ids=frozenset(spec.stop_token_ids),
            ignore_eos=spec.ignore_eos,
            priority=spec.priority,
            arrival=call.arrived_ns / 1e9,
        )
        self._calls[call.request_id] = call
        if self._scheduler.submit(request, time.monotonic()) is None:
            call.listener(Admitted())
            return
        del self._calls[call.request_id]
        call.end("rejected", "", time.monotonic_ns(), "The waiting queue is full.")
        self.metrics.add("inferometer:requests_rejected")
        refused = Refused(self._retry_after_s())
        self.telemetry.call_ended(
            lambda: span_of(call, self.loaded.name), lambda: call.listener(refused)
        )

    def _step(self) -> None:
        plan = self._scheduler.schedule(time.monotonic())
        for request in plan.preempted:
            self._calls[request.request_id].preempted(time.monotonic_ns())
            self.metrics.add("num_preemptions")
        if plan.is_empty:
            return
        started_unix_ns, began_ns = time.time_ns(), time.monotonic_ns()
        results = self._runner.run([self._entry(entry) for entry in plan.entries])
        # The tokens are on the host now, so the device has finished: this is every one's time.
        ended_ns = time.monotonic_ns()
        self._account(plan, began_ns, ended_ns, started_unix_ns)
        self._apply(plan, results, ended_ns)
        self._note_gauges()

    def _entry(self, entry: PlanEntry) -> RunEntry:
        request = entry.request
        call = self._calls[request.request_id]
        row = SampleRow(call.spec.sampling, call.output_tokens) if entry.samples else None
        return RunEntry(
            token_ids=request.tokens(entry.start, entry.start + entry.num_tokens),
            start=entry.start,
            block_ids=entry.block_ids,
            sample=row,
        )

    def _account(self, plan: StepPlan, began_ns: int, ended_ns: int, unix_ns: int) -> None:
        duration_us = (ended_ns - began_ns) // 1000
        tokens = [entry.num_tokens for entry in plan.entries]
        self._cost.observe(sum(tokens), duration_us)
        shares = split_step(duration_us, self._cost.fixed_us(duration_us), tokens)
        for entry, share_us in zip(plan.entries, shares, strict=True):
            call = self._calls[entry.request.request_id]
            first = call.measured.scheduled_ns is None
            call.take_part(self._steps, len(tokens), share_us, entry.start, began_ns)
            if first:
                self._note_prefix(call)
        self.metrics.add("inferometer:busy_microseconds", duration_us)
        self.metrics.add("inferometer:steps")
        self.metrics.observe("iteration_tokens_total", [sum(tokens)])
        self.telemetry.step_ended(self._steps, unix_ns, self._step_row(plan, duration_us))
        self._steps += 1

    def _apply(self, plan: StepPlan, results: list[Sampled | None], at_ns: int) -> None:
        tokens: dict[str, list[int]] = {}
        gaps: list[float] = []
        for entry, sampled in zip(plan.entries, results, strict=True):
            if sampled is None:
                continue
            call = self._calls[entry.request.request_id]
            tokens[call.request_id] = [sampled.token]
            gap = call.take_tokens([sampled], at_ns)
            if gap is None:
                self._note_first_token(call)
            else:
                gaps.append(gap / 1e9)
        self.metrics.add("generation_tokens", len(tokens))
        self.metrics.observe("inter_token_latency_seconds", gaps)
        self._emit(tokens, self._scheduler.commit(plan, tokens, at_ns / 1e9), at_ns)

    def _emit(self, tokens: dict[str, list[int]], events: list[Event], at_ns: int) -> None:
        """Send text out; end what the scheduler finished and what reached a stop string."""
        finished = {e.request_id: e.reason for e in events if isinstance(e, Finished)}
        for request_id, new in tokens.items():
            call = self._calls[request_id]
            text = call.text.push(new)
            reason = finished.get(request_id)
            if reason and not call.text.stopped:
                text += call.text.finish()
            if call.text.stopped:
                reason = "stop"
                if request_id not in finished:
                    self._scheduler.abort(request_id, at_ns / 1e9, "stop")
            if reason:
                call.pending_text = text
                self._end(call, "ok", reason, at_ns)
            else:
                call.listener(Text(text, call.output_tokens))

    def _end(
        self, call: Call, status: CallStatus, reason: str, at_ns: int, error: str | None = None
    ) -> None:
        """Close a call's books; its client hears of it once its span is on disk."""
        del self._calls[call.request_id]
        call.end(status, reason, at_ns, error)
        if call.measured.first_token_ns is None:
            self.metrics.add("prompt_tokens", len(call.spec.prompt_token_ids))
        self.metrics.call_ended(figures_of(call))
        self.telemetry.call_ended(
            lambda: span_of(call, self.loaded.name), lambda: call.listener(call.done())
        )

    def _cut_short(self, request_id: str, status: CallStatus, error: str | None = None) -> None:
        call = self._calls.get(request_id)
        if call is None:
            return
        self._scheduler.abort(request_id, time.monotonic(), status)
        self._end(call, status, "abort", time.monotonic_ns(), error)

    def _fail_all(self, error: str) -> None:
        for request_id in list(self._calls):
            self._cut_short(request_id, "error", error)

    def _note_first_token(self, call: Call) -> None:
        seen = call.measured
        self.metrics.add("prompt_tokens", len(call.spec.prompt_token_ids))
        ttft_ns = (seen.first_token_ns or 0) - call.arrived_ns
        self.metrics.observe("time_to_first_token_seconds", [ttft_ns / 1e9])

    def _note_prefix(self, call: Call) -> None:
        if self.config.enable_prefix_cache:
            self.metrics.add("prefix_cache_queries", len(call.spec.prompt_token_ids))
            self.metrics.add("prefix_cache_hits", call.measured.cached_tokens)
        self.metrics.add("prompt_tokens_cached", call.measured.cached_tokens)
        call.prefix_hashes = self._scheduler.prefix_hashes(call.request_id)

    def _note_gauges(self) -> None:
        scheduler = self._scheduler
        used = scheduler.num_used_blocks
        self._gauges = Gauges(
            running=scheduler.num_running,
            waiting=scheduler.num_waiting,
            kv_usage=used / self.config.num_blocks,
        )

    def _step_row(self, plan: StepPlan, duration_us: int) -> tuple[int, ...]:
        """What the simulator learns from, in the order of STEP_COLUMNS without its first."""
        prefill = [entry for entry in plan.entries if entry.is_prefill]
        decode = [entry for entry in plan.entries if not entry.is_prefill]
        used = self._scheduler.num_used_blocks
        return (
            duration_us,
            sum(entry.num_tokens for entry in prefill),
            len(decode),
            len(plan.entries),
            sum(entry.start + entry.num_tokens for entry in decode),
            sum(entry.start + entry.num_tokens for entry in prefill),
            used,
            self.config.num_blocks - used,
            self._scheduler.num_waiting,
            len(plan.preempted),
        )

    def _retry_after_s(self) -> float:
        """When a place in the queue is likely: half of the running calls' typical time left."""
        mean_s = self.metrics.mean_e2e_s()
        return 1.0 if mean_s is None else min(max(mean_s / 2, 1.0), 60.0)
