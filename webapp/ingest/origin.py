"""Which registered server a record came from, and what its registration adds."""

from dataclasses import dataclass

from webapp.accounts.models import ApiKey
from webapp.servers.models import Server


@dataclass(frozen=True)
class Origin:
    """The servers of a project, by name, and the one the sender's key is bound to."""

    bound: Server | None
    by_name: dict[str, Server]

    def server_of(self, named: str | None, service_name: str | None) -> Server | None:
        """The key's server, else the one named, else one whose name is the service's, else none."""
        if self.bound is not None:
            return self.bound
        for name in (named, service_name):
            if name and name in self.by_name:
                return self.by_name[name]
        return None


def origin_of(key: ApiKey) -> Origin:
    servers = Server.objects.filter(project_id=key.project_id, archived_at=None)
    by_name = {server.name: server for server in servers}
    bound = next((each for each in by_name.values() if each.ingest_key_id == key.pk), None)
    return Origin(bound, by_name)
