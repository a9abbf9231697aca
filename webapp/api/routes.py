"""The REST API: one router an app, mounted under /api/v1/."""

from ninja import NinjaAPI

from webapp.api import problems
from webapp.costs.api import router as costs
from webapp.drift.api import router as drift
from webapp.servers.api import router as servers
from webapp.telemetry.api import router as telemetry
from webapp.whatif.api import router as whatif

api = NinjaAPI(title="Inferometer", version="1", urls_namespace="api")
problems.install(api)

# One line an app.
api.add_router("", telemetry)
api.add_router("", servers)
api.add_router("", costs)
api.add_router("", drift)
api.add_router("", whatif)
