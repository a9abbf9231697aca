"""Fixtures every test may use: a real PostgreSQL and Redis, and a project with members.

`DATABASE_URL` and `REDIS_URL` are used where set; else both servers are started once for the
session in a folder of their own, and stopped at its end.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import django
import pytest
from django.test import Client

os.environ.setdefault("INFEROMETER_SECRET_KEY", "tests-" + "0" * 50)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
OWN_SERVICES = {name for name in ("DATABASE_URL", "REDIS_URL") if not os.environ.get(name)}
SERVICES_DIR = Path(tempfile.mkdtemp(prefix="inferometer-tests-")) if OWN_SERVICES else Path()
if OWN_SERVICES:
    from webapp.embedded import broker, postgres

    if "DATABASE_URL" in OWN_SERVICES:
        os.environ["DATABASE_URL"] = postgres.url(SERVICES_DIR)
    if "REDIS_URL" in OWN_SERVICES:
        os.environ["REDIS_URL"] = broker.url(SERVICES_DIR)
django.setup()

from webapp.accounts.keys import issue_key  # noqa: E402 (models need the settings above)
from webapp.accounts.models import Member, Organisation, Project, User  # noqa: E402
from webapp.servers.models import Server  # noqa: E402
from webapp.telemetry.series import forget_series  # noqa: E402

PASSWORD = "correct horse battery"


@pytest.fixture(scope="session")
def services() -> Iterator[None]:
    """PostgreSQL and Redis of this session; nothing to do where the environment names them."""
    with ExitStack() as running:
        if "DATABASE_URL" in OWN_SERVICES:
            running.enter_context(postgres.running(SERVICES_DIR))
        if "REDIS_URL" in OWN_SERVICES:
            running.enter_context(broker.running(SERVICES_DIR))
        yield


@pytest.fixture(scope="session")
def django_db_modify_db_settings(services: None) -> None:
    """The servers must run before the test database is created."""


@pytest.fixture(autouse=True)
def _no_remembered_series() -> Iterator[None]:
    """A test's series are undone with it; this process must not remember their ids."""
    yield
    forget_series()


@pytest.fixture
def project(db: None) -> Project:
    organisation = Organisation.objects.create(name="Acme", slug="acme")
    return Project.objects.create(organisation=organisation, name="Search", slug="search")


def person(username: str, project: Project | None = None, role: str = "") -> User:
    user = User.objects.create_user(username, f"{username}@example.com", PASSWORD)
    if project is not None:
        Member.objects.create(project=project, user=user, role=role)
    return user


@pytest.fixture
def owner(project: Project) -> User:
    """An administrator of the project."""
    return person("owner", project, Member.Role.ADMIN)


@pytest.fixture
def engineer(project: Project) -> User:
    return person("engineer", project, Member.Role.ENGINEER)


@pytest.fixture
def finops(project: Project) -> User:
    return person("finops", project, Member.Role.FINOPS)


@pytest.fixture
def viewer(project: Project) -> User:
    """A member who may only read."""
    return person("viewer", project, Member.Role.VIEWER)


@pytest.fixture
def stranger(project: Project) -> User:
    """Somebody with an account and a project of their own, but no part in `project`."""
    organisation = Organisation.objects.create(name="Other", slug="other")
    other = Project.objects.create(organisation=organisation, name="Other", slug="other")
    return person("stranger", other, Member.Role.ADMIN)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def owner_client(owner: User) -> Client:
    return signed_in(owner)


@pytest.fixture
def engineer_client(engineer: User) -> Client:
    return signed_in(engineer)


@pytest.fixture
def finops_client(finops: User) -> Client:
    return signed_in(finops)


@pytest.fixture
def viewer_client(viewer: User) -> Client:
    return signed_in(viewer)


@pytest.fixture
def stranger_client(stranger: User) -> Client:
    return signed_in(stranger)


@pytest.fixture
def api_key(project: Project) -> str:
    """The secret of a key that may read and write."""
    return issue_key(project, "api", ["read", "write"])[1]


@pytest.fixture
def ingest_key(project: Project) -> str:
    """The secret of a key that may send telemetry and is bound to no server."""
    return issue_key(project, "ingest", ["ingest"])[1]


@pytest.fixture
def server(project: Project) -> Server:
    """A registered engine, with an ingest key of its own."""
    key, _ = issue_key(project, "engine ingest", ["ingest"])
    return Server.objects.create(
        project=project,
        name="engine",
        kind=Server.Kind.ENGINE,
        base_url="http://127.0.0.1:8100",
        model="SmolLM2-135M-Instruct",
        ingest_key=key,
    )


@pytest.fixture
def server_key(server: Server) -> str:
    """The secret of an ingest key bound to `server`."""
    key, secret = issue_key(server.project, "bound", ["ingest"])
    server.ingest_key = key
    server.save(update_fields=["ingest_key"])
    return secret
