from datetime import timedelta

import pytest
from django.utils.timezone import now

from webapp.accounts import keys
from webapp.accounts.keys import issue_key, key_for_token, revoke_key
from webapp.accounts.models import ApiKey


def test_the_secret_is_not_stored(project):
    key, secret = issue_key(project, "k", ["read"])
    row = ApiKey.objects.filter(pk=key.pk).values().get()
    assert secret.startswith("ifm_")
    assert not any(secret in str(value) for value in row.values())
    assert secret.startswith(row["prefix"])


def test_a_key_opens_only_its_scopes(project):
    _, secret = issue_key(project, "k", ["read"])
    assert key_for_token(secret, "read").project == project
    assert key_for_token(secret, "write") is None


def test_a_wrong_token_opens_nothing(project):
    _, secret = issue_key(project, "k", ["read"])
    assert key_for_token(secret[:-1], "read") is None
    assert key_for_token("", "read") is None


def test_a_known_key_costs_no_query(project, django_assert_num_queries):
    _, secret = issue_key(project, "k", ["ingest"])
    key_for_token(secret, "ingest")
    with django_assert_num_queries(0):
        key = key_for_token(secret, "ingest")
        assert key.project.organisation.timezone == "UTC"


def test_revocation_is_immediate_here_and_within_ten_seconds_elsewhere(project):
    key, secret = issue_key(project, "k", ["read"])
    key_for_token(secret, "read")
    revoke_key(key)
    assert key_for_token(secret, "read") is None
    assert keys.CACHE_S <= 10


def test_a_cached_key_expires(project, monkeypatch):
    key, secret = issue_key(project, "k", ["read"])
    key_for_token(secret, "read")
    ApiKey.objects.filter(pk=key.pk).update(revoked_at=now())
    assert key_for_token(secret, "read") is not None
    clock = keys.time.monotonic() + keys.CACHE_S
    monkeypatch.setattr(keys.time, "monotonic", lambda: clock)
    assert key_for_token(secret, "read") is None


def test_use_is_noted_at_most_once_a_minute(project):
    key, secret = issue_key(project, "k", ["read"])
    key_for_token(secret, "read")
    first = ApiKey.objects.get(pk=key.pk).last_used_at
    assert first is not None
    keys.forget_key(key)
    key_for_token(secret, "read")
    assert ApiKey.objects.get(pk=key.pk).last_used_at == first
    ApiKey.objects.filter(pk=key.pk).update(last_used_at=first - timedelta(minutes=2))
    keys.forget_key(key)
    key_for_token(secret, "read")
    assert ApiKey.objects.get(pk=key.pk).last_used_at >= first


@pytest.mark.parametrize("scopes", [[], ["root"], ["read", "root"]])
def test_unknown_or_missing_scopes_are_refused(project, scopes):
    with pytest.raises(ValueError, match="ingest, read, write, gateway"):
        issue_key(project, "k", scopes)
