"""One installation: its folder, ports, and where its programs find each other."""

import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from webapp.embedded import broker, postgres
from webapp.embedded.paths import CannotStart, make_private

ROOT = Path(__file__).resolve().parents[2]
_PORTS = {"web": 8000, "engine": 8100, "gateway": 8200}


def port_variable(name: str) -> str:
    return f"INFEROMETER_{name.upper()}_PORT"


@dataclass(frozen=True)
class Installation:
    """Read from the environment once; every process of the stack sees the same.

    `own_database`, `own_broker`: embedded, since the environment names no other.
    """

    var: Path
    host: str
    ports: dict[str, int] = field(default_factory=dict)
    own_database: bool = True
    own_broker: bool = True

    @classmethod
    def from_environment(cls) -> "Installation":
        var = Path(os.environ.get("INFEROMETER_VAR") or ROOT / "var").resolve()
        host = os.environ.get("INFEROMETER_HOST") or "127.0.0.1"
        return cls(
            var,
            host,
            {name: _port(name, default) for name, default in _PORTS.items()},
            own_database=not os.environ.get("DATABASE_URL"),
            own_broker=not os.environ.get("REDIS_URL"),
        )

    def url(self, name: str) -> str:
        """The base URL of one of our HTTP servers, as its neighbours reach it."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        return f"http://{host}:{self.ports[name]}"

    @property
    def credentials(self) -> Path:
        return self.var / "credentials.json"

    @property
    def ready(self) -> Path:
        """There while this run's database is migrated and its keys are issued."""
        return self.var / "ready"

    def environment(self) -> dict[str, str]:
        """What every program of the stack needs to find the rest."""
        found = {"INFEROMETER_VAR": str(self.var), "PYTHONUNBUFFERED": "1"}
        if self.own_database:
            found["DATABASE_URL"] = postgres.url(self.var)
        if self.own_broker:
            found["REDIS_URL"] = broker.url(self.var)
        return found

    def keys(self) -> dict[str, Any]:
        """Keys by which the programs of the stack reach each other; empty before they exist."""
        try:
            found: dict[str, Any] = json.loads((self.var / "keys.json").read_text())
        except FileNotFoundError:
            return {}
        return found

    def write_private(self, name: str, content: str) -> None:
        """Write a file of ours whole or not at all, for its owner only."""
        path = self.var / name
        part = path.with_name(name + ".part")
        part.unlink(missing_ok=True)
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)

    def make(self) -> None:
        """The folder, and the secret that signs sessions."""
        make_private(self.var)
        if not (self.var / "secret_key").is_file() and not os.environ.get("INFEROMETER_SECRET_KEY"):
            self.write_private("secret_key", secrets.token_urlsafe(50))


def _port(name: str, default: int) -> int:
    variable = port_variable(name)
    text = os.environ.get(variable) or str(default)
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise CannotStart(f"{variable} is {text!r}; allowed: a port from 1 to 65535.")
    return int(text)
