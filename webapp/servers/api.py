"""REST: the inventory."""

from decimal import Decimal
from typing import Any

from django.http import HttpRequest
from django.utils.timezone import now
from ninja import Router, Schema, Status
from pydantic import ConfigDict, Field

from webapp.accounts.models import Project
from webapp.api.auth import READ, WRITE, actor_of
from webapp.api.problems import Problem
from webapp.servers import inventory
from webapp.servers.models import Server
from webapp.servers.pricing import BadPrice, price_at, set_price

router = Router(tags=["servers"])


class ServerOut(Schema):
    name: str
    kind: str
    base_url: str
    metrics_url: str
    model: str
    provider: str
    location: str
    exposure: str
    owner: str
    hardware: str
    hardware_count: int
    price_per_hour: str | None = Field(description="exact decimal, in `currency`, in force now")
    price_is_assumption: bool | None
    currency: str | None
    archived: bool


class ServerList(Schema):
    items: list[ServerOut]


class ServerChange(Schema):
    """Fields that are left out stay as they are."""

    model_config = ConfigDict(extra="forbid")

    kind: str | None = None
    base_url: str | None = None
    metrics_url: str | None = None
    model: str | None = None
    provider: str | None = None
    location: str | None = None
    exposure: str | None = None
    owner: str | None = None
    hardware: str | None = None
    hardware_count: int | None = None
    price_per_hour: Decimal | None = Field(None, description="from now on")
    currency: str | None = None


class ServerIn(ServerChange):
    name: str
    kind: str


@router.get("servers", auth=READ, response=ServerList, summary="Registered servers")
def list_servers(request: HttpRequest) -> dict[str, Any]:
    found = Server.objects.filter(project=request.auth.project, archived_at=None)
    return {"items": [_shown(server) for server in found]}


@router.post("servers", auth=WRITE, response={201: ServerOut}, summary="Register a server")
def add_server(request: HttpRequest, payload: ServerIn) -> Status[dict[str, Any]]:
    key = request.auth
    values = payload.dict(exclude_none=True)
    price, currency = values.pop("price_per_hour", None), values.pop("currency", "USD")
    try:
        server = inventory.register(key.project, actor_of(key), values)
        _price(server, key, price, currency)
    except (inventory.BadServer, BadPrice) as error:
        raise Problem(422, "Not valid", str(error)) from error
    return Status(201, _shown(server))


@router.patch("servers/{name}", auth=WRITE, response=ServerOut, summary="Change a server")
def change_server(request: HttpRequest, name: str, payload: ServerChange) -> dict[str, Any]:
    key = request.auth
    server = _server(key.project, name)
    values = payload.dict(exclude_unset=True, exclude_none=True)
    price, currency = values.pop("price_per_hour", None), values.pop("currency", "USD")
    try:
        inventory.change(server, actor_of(key), values)
        _price(server, key, price, currency)
    except (inventory.BadServer, BadPrice) as error:
        raise Problem(422, "Not valid", str(error)) from error
    return _shown(server)


def _price(server: Server, key: Any, price: Decimal | None, currency: str) -> None:
    if price is not None:
        set_price(server, actor_of(key), price, now(), currency=currency)


def _server(project: Project, name: str) -> Server:
    server = Server.objects.filter(project=project, name=name, archived_at=None).first()
    if server is None:
        raise Problem(404, "Not found", f"There is no server {name!r} in this project.")
    return server


def _shown(server: Server) -> dict[str, Any]:
    rate = price_at(server, now())
    same = ("name", "kind", "base_url", "metrics_url", "model", "provider", "location")
    same += ("exposure", "owner", "hardware", "hardware_count")
    return {
        **{name: getattr(server, name) for name in same},
        "price_per_hour": None if rate is None else f"{rate.price_per_hour.normalize():f}",
        "price_is_assumption": None if rate is None else rate.is_assumption,
        "currency": None if rate is None else rate.currency,
        "archived": server.archived_at is not None,
    }
