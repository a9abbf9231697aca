"""Money's background work; each task can also be run by hand with a management command."""

from datetime import datetime

from celery import shared_task

from webapp.costs import ledger, repricing


@shared_task(name="costs.settle_ledger", time_limit=600)
def settle_ledger() -> None:
    ledger.settle_due()


@shared_task(name="costs.reprice_calls", acks_late=True, time_limit=900)
def reprice_calls(
    project_id: int, since: str, server_id: int | None = None, model: str = ""
) -> None:
    at = datetime.fromisoformat(since)
    repricing.reprice_calls(project_id, at, server_id=server_id, model=model)
