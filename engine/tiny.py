"""A tiny random model over bytes: the whole engine in a second, without weights or a network.

`python -m engine --model tiny` serves it; tests build engines from it.
"""

from __future__ import annotations

import time
from typing import Any

import torch

from engine.loader import LoadedModel, finish_loading
from engine.paged_cache import ATTENTION_NAME, register_attention

_SPECIALS = ("<|end|>", "<|start|>")
_CHAT_TEMPLATE = (
    "{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def byte_tokenizer() -> Any:
    """A real fast tokenizer whose tokens are the 256 bytes and two specials."""
    from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import BPE
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(name, special=True) for name in _SPECIALS])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token=_SPECIALS[0], bos_token=_SPECIALS[1]
    )
    tokenizer.chat_template = _CHAT_TEMPLATE
    return tokenizer


def tiny_model(
    *,
    seed: int = 0,
    device: torch.device | None = None,
    hidden_size: int = 64,
    num_layers: int = 2,
    max_model_len: int = 512,
) -> LoadedModel:
    """A randomly initialised Llama of about 100,000 parameters, in float32."""
    from transformers import AutoModelForCausalLM, LlamaConfig

    started = time.monotonic()
    register_attention()
    tokenizer = byte_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden_size,
        intermediate_size=2 * hidden_size,
        num_hidden_layers=num_layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=max_model_len,
        initializer_range=0.3,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=tokenizer.bos_token_id,
        tie_word_embeddings=True,
    )
    target = device or torch.device("cpu")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = AutoModelForCausalLM.from_config(config, attn_implementation=ATTENTION_NAME)
    network = network.to(target, torch.float32).eval()
    return finish_loading(network, tokenizer, "tiny", target, torch.float32, started)
