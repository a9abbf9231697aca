"""Which upstream a server's name stands for: named at start, and learnt from the inventory."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import httpx

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Target:
    """Where calls for a server go. `model` is what it serves, where that is known."""

    name: str
    base_url: str
    model: str | None = None
    provider: str | None = None

    def url(self, path: str) -> str:
        """The upstream's URL of a path as the client wrote it.

        A base URL may end in `/v1`, as SDKs want it; the client's path has it as well.
        """
        return self.base_url.rstrip("/").removesuffix("/v1") + "/" + path


class Targets:
    """Targets by name. A name given at start wins over the inventory's."""

    def __init__(self, fixed: dict[str, str], *, inventory: str = "", key: str = "") -> None:
        self._fixed = {name: Target(name, url) for name, url in fixed.items()}
        self._learnt: dict[str, Target] = {}
        self._inventory = inventory
        self._key = key

    def get(self, name: str) -> Target | None:
        return self._fixed.get(name) or self._learnt.get(name)

    def names(self) -> list[str]:
        return sorted({*self._fixed, *self._learnt})

    async def refresh(self, client: httpx.AsyncClient) -> None:
        """Read the inventory again; what cannot be read leaves the former in place."""
        if not self._inventory:
            return
        headers = {"Authorization": f"Bearer {self._key}"}
        try:
            answer = await client.get(self._inventory, headers=headers, timeout=5.0)
            answer.raise_for_status()
            rows = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            log.warning("the server list %s cannot be read: %s", self._inventory, error)
            return
        self._learnt = {target.name: target for target in _targets(rows)}


def _targets(rows: Any) -> list[Target]:
    found = rows.get("items", []) if isinstance(rows, dict) else rows
    return [
        Target(row["name"], row["base_url"], row.get("model") or None, row.get("provider") or None)
        for row in found
        if row.get("name") and row.get("base_url")
    ]
