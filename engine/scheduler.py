"""Continuous batching over paged blocks. No torch, no clock: the engine and the simulator drive it.

There is no prefill phase and no decode phase. Every request has tokens that are known (prompt and
output) and tokens that are computed; each step hands out a budget of tokens so that computed
catches up with known: running requests first, in order of admission, then waiting ones. When blocks
run out, the request admitted last gives its blocks back and is computed again later.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.block_pool import BlockPool, block_hashes
from engine.config import EngineConfig
from engine.events import Aborted, Event, Finished, FinishReason, Rejected, TokensEmitted
from engine.request import Phase, Request


@dataclass(slots=True)
class PlanEntry:
    """One request's part of a step: `num_tokens` from position `start`, over its blocks.

    `samples`: the step reaches the last known token, so that a new one comes out of it.
    """

    request: Request
    start: int
    num_tokens: int
    block_ids: list[int]
    samples: bool

    @property
    def is_prefill(self) -> bool:
        """Whether it reads more than the one token a running answer needs."""
        return self.num_tokens > 1 or self.start < self.request.num_prompt_tokens


@dataclass(slots=True)
class StepPlan:
    """What one step computes, and who lost its blocks for it."""

    entries: list[PlanEntry] = field(default_factory=list)
    preempted: list[Request] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not self.entries


class Scheduler:
    """Decides what each step computes. `now` is in seconds on the caller's clock, never read here.

    A step is `schedule`, then the model, then `commit` with what it sampled; requests may be
    submitted and aborted in between.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self._pool = BlockPool(config.num_blocks)
        self._requests: dict[str, Request] = {}
        self._running: list[Request] = []
        # (priority, preempted first, sequence): a heap; entries of ended requests are skipped.
        self._waiting: list[tuple[int, int, Request]] = []
        self._num_waiting = 0
        self._sequence = 0

    @property
    def has_work(self) -> bool:
        return bool(self._running) or self._num_waiting > 0

    @property
    def num_running(self) -> int:
        return len(self._running)

    @property
    def num_waiting(self) -> int:
        return self._num_waiting

    @property
    def num_used_blocks(self) -> int:
        return self._pool.num_used

    def prefix_hashes(self, request_id: str) -> bytes:
        """The chained hashes of a prompt's full blocks, 8 bytes each, little-endian."""
        hashes = self._requests[request_id].block_hashes
        return b"".join(value.to_bytes(8, "little") for value in hashes)

    def submit(self, request: Request, now: float) -> Rejected | None:
        """Queue a request; Rejected, and nothing queued, where it cannot ever or now be taken."""
        reason = self._refusal(request)
        if reason:
            request.phase = Phase.ENDED
            return Rejected(request.request_id, reason)
        if request.prompt_token_ids is not None:
            request.block_hashes = block_hashes(request.prompt_token_ids, self.config.block_size)
        self._sequence += 1
        request.sequence = self._sequence
        self._requests[request.request_id] = request
        self._wait(request)
        return None

    def abort(self, request_id: str, now: float, reason: str) -> Aborted | None:
        """End a request from outside; None where it has ended already."""
        request = self._requests.get(request_id)
        if request is None:
            return None
        if request.phase is Phase.RUNNING:
            self._running.remove(request)
        else:
            self._num_waiting -= 1
        self._end(request)
        return Aborted(request_id, reason)

    def schedule(self, now: float) -> StepPlan:
        """What the next step computes; empty only where nothing waits or runs."""
        plan = StepPlan()
        budget = self._schedule_running(plan)
        if not plan.preempted:
            self._admit(plan, budget)
        return plan

    def commit(
        self, plan: StepPlan, tokens: Mapping[str, Sequence[int]], now: float
    ) -> list[Event]:
        """Apply a step: what it computed, and the tokens sampled for each request by id.

        Tokens past the one that ends a request are dropped. Requests aborted meanwhile are skipped.
        """
        events: list[Event] = []
        for entry in plan.entries:
            request = entry.request
            if request.phase is not Phase.RUNNING:
                continue
            self._computed(request, entry.start + entry.num_tokens)
            if entry.samples:
                self._append(request, tokens[request.request_id], events)
        if any(isinstance(event, Finished) for event in events):
            self._running = [r for r in self._running if r.phase is Phase.RUNNING]
        return events

    def check_integrity(self) -> None:
        """AssertionError where requests, queues and blocks do not add up."""
        self._pool.check_integrity([r.block_ids for r in self._requests.values()])
        assert all(r.phase is Phase.RUNNING for r in self._running)
        waiting = [r for r in self._requests.values() if r.phase is Phase.WAITING]
        assert len(waiting) == self._num_waiting
        assert len(self._requests) == self._num_waiting + len(self._running)
        assert len(self._running) <= self.config.max_num_seqs
        assert not any(r.block_ids for r in waiting)
        size = self.config.block_size
        assert all(len(r.block_ids) * size >= r.num_computed for r in self._running)

    def _refusal(self, request: Request) -> str:
        longest = request.num_prompt_tokens + request.max_tokens
        config = self.config
        if request.request_id in self._requests:
            return f"A request {request.request_id} is being served already."
        if request.max_tokens < 1:
            return "At least one token must be asked for."
        if longest > config.max_model_len:
            return f"Prompt and answer have {longest} tokens; at most {config.max_model_len} fit."
        if longest > config.capacity_tokens:
            held = config.capacity_tokens
            return f"Prompt and answer have {longest} tokens; the cache holds {held}."
        too_long = request.num_prompt_tokens > config.max_batched_tokens
        if too_long and not config.enable_chunked_prefill:
            return (
                f"The prompt has {request.num_prompt_tokens} tokens; without chunked prefill "
                f"at most {config.max_batched_tokens} fit in a step."
            )
        if config.max_waiting is not None and self._num_waiting >= config.max_waiting:
            return "The waiting queue is full."
        return ""

    def _wait(self, request: Request) -> None:
        request.phase = Phase.WAITING
        self._num_waiting += 1
        heapq.heappush(self._waiting, (request.priority, request.sequence, request))

    def _schedule_running(self, plan: StepPlan) -> int:
        """Give each running request its tokens; what is left of the budget."""
        budget = self.config.max_batched_tokens
        index = 0
        while index < len(self._running):
            if budget == 0:
                break
            request = self._running[index]
            num_tokens = min(request.num_tokens - request.num_computed, budget)
            if not self._grow(request, num_tokens, plan):
                break  # it was the last one left to preempt, and lost its own blocks
            plan.entries.append(self._entry(request, num_tokens))
            budget -= num_tokens
            index += 1
        return budget

    def _grow(self, request: Request, num_tokens: int, plan: StepPlan) -> bool:
        """Blocks for the next tokens; False where the request itself had to be preempted."""
        size = self.config.block_size
        needed = -(-(request.num_computed + num_tokens) // size) - len(request.block_ids)
        if needed <= 0:
            return True
        while self._pool.num_free < needed:
            victim = self._running[-1]
            self._preempt(victim, plan)
            if victim is request:
                return False
        request.block_ids += self._pool.take(needed)
        return True

    def _preempt(self, request: Request, plan: StepPlan) -> None:
        self._running.pop()
        self._pool.release(request.block_ids)
        request.block_ids = []
        request.num_computed = 0
        request.num_preemptions += 1
        plan.preempted.append(request)
        self._wait(request)

    def _admit(self, plan: StepPlan, budget: int) -> None:
        """Let waiting requests in while sequences, tokens and blocks last; nobody is overtaken."""
        while self._waiting and budget > 0 and len(self._running) < self.config.max_num_seqs:
            request = self._waiting[0][2]
            if request.phase is not Phase.WAITING:
                heapq.heappop(self._waiting)
                continue
            num_tokens = self._start(request, budget)
            if num_tokens == 0:
                return
            heapq.heappop(self._waiting)
            self._num_waiting -= 1
            request.phase = Phase.RUNNING
            self._running.append(request)
            plan.entries.append(self._entry(request, num_tokens))
            budget -= num_tokens

    def _start(self, request: Request, budget: int) -> int:
        """Take blocks for a waiting request's first tokens; how many tokens, 0 where none fit."""
        size = self.config.block_size
        cached: list[int] = []
        if self.config.enable_prefix_cache:
            # One token at least is computed, since nothing else gives the next one.
            cached = self._pool.find_prefix(request.block_hashes, (request.num_tokens - 1) // size)
        start = len(cached) * size
        num_tokens = request.num_tokens - start
        if num_tokens > budget:
            if not self.config.enable_chunked_prefill and budget < self.config.max_batched_tokens:
                return 0
            num_tokens = budget
        needed = -(-(start + num_tokens) // size) - len(cached)
        if needed + self._pool.num_free_among(cached) > self._pool.num_free:
            return 0
        self._pool.share(cached)
        request.block_ids = cached + self._pool.take(needed)
        request.num_computed = start
        if request.num_preemptions == 0:
            request.num_cached = start
        return num_tokens

    def _entry(self, request: Request, num_tokens: int) -> PlanEntry:
        start = request.num_computed
        samples = start + num_tokens == request.num_tokens
        return PlanEntry(request, start, num_tokens, request.block_ids, samples)

    def _computed(self, request: Request, end: int) -> None:
        """Note progress; prompt blocks that are full now can be found by later requests."""
        before, request.num_computed = request.num_computed, end
        if not self.config.enable_prefix_cache:
            return
        size = self.config.block_size
        for index in range(before // size, min(end // size, len(request.block_hashes))):
            self._pool.remember(request.block_ids[index], request.block_hashes[index])

    def _append(self, request: Request, tokens: Sequence[int], events: list[Event]) -> None:
        first = request.num_output_tokens == 0
        count = 0
        reason: FinishReason | None = None
        for token in tokens:
            request.output_token_ids.append(token)
            request.num_output_tokens += 1
            count += 1
            reason = self._finish_reason(request, token)
            if reason:
                break
        events.append(TokensEmitted(request.request_id, count, first))
        if reason:
            self._end(request)
            events.append(Finished(request.request_id, reason))

    def _finish_reason(self, request: Request, token: int) -> FinishReason | None:
        if request.ends_with(token):
            return "stop"
        full = request.num_tokens >= self.config.max_model_len
        return "length" if request.num_output_tokens >= request.max_tokens or full else None

    def _end(self, request: Request) -> None:
        self._pool.release(request.block_ids)
        request.block_ids = []
        request.phase = Phase.ENDED
        del self._requests[request.request_id]
