"""Who calls the API: a bearer key, or a signed-in person who only reads."""

from django.http import HttpRequest
from ninja.security import HttpBearer

from webapp.accounts.access import project_for_user
from webapp.accounts.keys import key_for_token
from webapp.accounts.models import ApiKey
from webapp.api.problems import Problem

SAFE_METHODS = ("GET", "HEAD")


class KeyAuth(HttpBearer):
    """Sets `request.auth` to an ApiKey with the scope.

    A signed-in person may read with `?project=slug`: `request.auth` is then a key of that project
    that exists only for the request. Writes always need a real key, so no cookie can cause one.
    """

    def __init__(self, scope: ApiKey.Scope) -> None:
        self.scope = scope
        super().__init__()

    def __call__(self, request: HttpRequest) -> ApiKey | None:
        if "Authorization" in request.headers:
            return super().__call__(request)
        if self.scope == ApiKey.Scope.READ and request.method in SAFE_METHODS:
            return _key_of_session(request)
        return None

    def authenticate(self, request: HttpRequest, token: str) -> ApiKey | None:
        key = key_for_token(token, self.scope)
        if key is None and any(key_for_token(token, scope) for scope in ApiKey.Scope):
            raise Problem(403, "Scope missing", f"This key lacks the scope {self.scope}.")
        return key


READ = KeyAuth(ApiKey.Scope.READ)
WRITE = KeyAuth(ApiKey.Scope.WRITE)


def actor_of(key: ApiKey) -> str:
    """How the audit log names the caller."""
    return f"key {key.name} ({key.prefix}…)"


def _key_of_session(request: HttpRequest) -> ApiKey | None:
    slug = request.GET.get("project", "")
    if not slug or not request.user.is_authenticated:
        return None
    project = project_for_user(request, slug)
    return ApiKey(
        project=project,
        name=request.user.get_username(),
        prefix="session",
        scopes=[ApiKey.Scope.READ],
    )
