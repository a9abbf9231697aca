"""The REST API: one router an app, mounted under /api/v1/."""

from ninja import NinjaAPI

api = NinjaAPI(title="Inferometer", version="1", urls_namespace="api")
