"""Sizes of models that the simulator needs: parameters, and bytes of cache a token takes."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class ModelShape:
    """Counts of one model; None where unknown.

    `kv_values` is keys plus values a token: 2 × layers × KV heads × head size.
    `active_parameters` is below `parameters` for mixtures of experts.
    """

    name: str
    parameters: float
    kv_values: int | None = None
    layers: int | None = None
    active_parameters: float | None = None

    def weight_gb(self, bytes_per_weight: float) -> float:
        """Memory of the weights, in GB."""
        return self.parameters * bytes_per_weight / 1e9

    def kv_bytes(self, bytes_per_value: float) -> float | None:
        """Cache bytes of one token."""
        return None if self.kv_values is None else self.kv_values * bytes_per_value


# From each model's published configuration; the longest name that a model's name contains wins.
SHAPES: dict[str, ModelShape] = {
    "smollm2-135m": ModelShape("SmolLM2-135M", 134.5e6, 2 * 30 * 3 * 64, 30),
    "smollm2-360m": ModelShape("SmolLM2-360M", 361.8e6, 2 * 32 * 5 * 64, 32),
    "smollm2-1.7b": ModelShape("SmolLM2-1.7B", 1.711e9, 2 * 24 * 32 * 64, 24),
    "llama-3.1-8b": ModelShape("Llama-3.1-8B", 8.03e9, 2 * 32 * 8 * 128, 32),
    "llama-3.1-70b": ModelShape("Llama-3.1-70B", 70.6e9, 2 * 80 * 8 * 128, 80),
    "llama-3.3-70b": ModelShape("Llama-3.3-70B", 70.6e9, 2 * 80 * 8 * 128, 80),
    "llama-3.2-1b": ModelShape("Llama-3.2-1B", 1.24e9, 2 * 16 * 8 * 64, 16),
    "llama-3.2-3b": ModelShape("Llama-3.2-3B", 3.21e9, 2 * 28 * 8 * 128, 28),
    "mistral-7b": ModelShape("Mistral-7B", 7.25e9, 2 * 32 * 8 * 128, 32),
    "qwen2.5-0.5b": ModelShape("Qwen2.5-0.5B", 0.494e9, 2 * 24 * 2 * 64, 24),
    "qwen2.5-7b": ModelShape("Qwen2.5-7B", 7.62e9, 2 * 28 * 4 * 128, 28),
    "qwen3-8b": ModelShape("Qwen3-8B", 8.19e9, 2 * 36 * 8 * 128, 36),
    "qwen3-32b": ModelShape("Qwen3-32B", 32.8e9, 2 * 64 * 8 * 128, 64),
}
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])", re.IGNORECASE)


def shape_of(model: str | None) -> ModelShape | None:
    """The shape of a model by its name; only the size where no table row fits, None where neither.

    >>> shape_of("somebody/Custom-7B-Instruct").parameters
    7000000000.0
    """
    name = (model or "").lower()
    matches = [key for key in SHAPES if key in name]
    if matches:
        return SHAPES[max(matches, key=len)]
    size = _SIZE.search(name)
    if size is None:
        return None
    return ModelShape(model or "", float(size[1]) * (1e9 if size[2] == "b" else 1e6))
