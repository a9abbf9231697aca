"""Sizes and switches of one engine. Pure: shared by the engine and the simulator."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EngineConfig:
    """How a scheduler batches. Sizes in tokens unless the name says otherwise.

    `max_batched_tokens` bounds the tokens of one step, `max_num_seqs` its sequences, `max_waiting`
    the queue (None: no bound), `max_model_len` prompt and answer together.
    """

    block_size: int = 16
    num_blocks: int = 1024
    max_num_seqs: int = 32
    max_batched_tokens: int = 1024
    max_model_len: int = 8192
    enable_chunked_prefill: bool = True
    enable_prefix_cache: bool = True
    max_waiting: int | None = None

    def __post_init__(self) -> None:
        for name in (
            "block_size",
            "num_blocks",
            "max_num_seqs",
            "max_batched_tokens",
            "max_model_len",
        ):
            value = getattr(self, name)
            if value < 1:
                raise ValueError(f"{name} is {value}; it must be at least 1.")
        if self.max_waiting is not None and self.max_waiting < 0:
            raise ValueError(f"max_waiting is {self.max_waiting}; it must be at least 0.")

    @property
    def capacity_tokens(self) -> int:
        """Tokens whose keys and values the cache holds."""
        return self.num_blocks * self.block_size
