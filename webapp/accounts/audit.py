"""The audit log: every change that moves money or opens access."""

from webapp.accounts.models import AuditEntry, Project


def record(project: Project, actor: str, action: str, subject: str, **detail: object) -> AuditEntry:
    """Write one entry. `action` reads `<noun>.<past verb>`, as in `key.issued`."""
    return AuditEntry.objects.create(
        project=project,
        actor=actor[:160],
        action=action[:60],
        subject=subject[:200],
        detail={name: _plain(value) for name, value in detail.items()},
    )


def _plain(value: object) -> object:
    """JSON keeps numbers, text and lists; anything else (a Decimal, a time) is kept as text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value)
