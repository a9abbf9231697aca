"""The REST API: one router an app, mounted under /api/v1/."""

from ninja import NinjaAPI

from webapp.api import problems

api = NinjaAPI(title="Inferometer", version="1", urls_namespace="api")
problems.install(api)

# One line an app: api.add_router("", "webapp.<app>.api.router")
