"""API keys: issued once, stored as a hash, looked up without a query per request."""

import hashlib
import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models import Q
from django.utils.timezone import now

from webapp.accounts.models import ApiKey, Project, User

CACHE_S = 10.0
CACHE_KEYS = 1000
USED_EVERY = timedelta(minutes=1)
SHOWN_CHARACTERS = 12


@dataclass
class _KnownKeys:
    """Keys this process saw lately. A revocation reaches every process within CACHE_S."""

    until: dict[str, tuple[float, ApiKey]] = field(default_factory=dict)

    def get(self, digest: str) -> ApiKey | None:
        expires_at, key = self.until.get(digest, (0.0, None))
        return key if time.monotonic() < expires_at else None

    def put(self, digest: str, key: ApiKey) -> None:
        if len(self.until) >= CACHE_KEYS:
            self.until.clear()
        self.until[digest] = (time.monotonic() + CACHE_S, key)

    def forget(self, digest: str) -> None:
        self.until.pop(digest, None)


_known = _KnownKeys()


def issue_key(
    project: Project,
    name: str,
    scopes: Collection[str],
    *,
    created_by: User | None = None,
    team: str = "",
    feature: str = "",
) -> tuple[ApiKey, str]:
    """A new key and its secret, which is returned here and can never be read again."""
    unknown = set(scopes) - set(ApiKey.Scope.values)
    if unknown or not scopes:
        allowed = ", ".join(ApiKey.Scope.values)
        raise ValueError(f"A key needs scopes out of: {allowed}; got {sorted(scopes)}.")
    secret = "ifm_" + secrets.token_urlsafe(32)
    key = ApiKey.objects.create(
        project=project,
        name=name,
        prefix=secret[:SHOWN_CHARACTERS],
        key_hash=_digest(secret),
        scopes=sorted(scopes),
        team=team,
        feature=feature,
        created_by=created_by,
    )
    return key, secret


def key_for_token(token: str, scope: str) -> ApiKey | None:
    """The valid key behind a bearer token, if it has the scope; project and server are loaded."""
    digest = _digest(token)
    key = _known.get(digest)
    if key is None:
        key = (
            ApiKey.objects.select_related("project__organisation", "server")
            .filter(key_hash=digest, revoked_at=None)
            .first()
        )
        if key is None:
            return None
        _known.put(digest, key)
        _note_use(key)
    return key if scope in key.scopes else None


def revoke_key(key: ApiKey) -> None:
    key.revoked_at = now()
    key.save(update_fields=["revoked_at"])
    _known.forget(key.key_hash)


def forget_key(key: ApiKey) -> None:
    """Drop a key from this process's memory, after the server it is bound to changed."""
    _known.forget(key.key_hash)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _note_use(key: ApiKey) -> None:
    at = now()
    stale = Q(last_used_at=None) | Q(last_used_at__lt=at - USED_EVERY)
    ApiKey.objects.filter(stale, pk=key.pk).update(last_used_at=at)
