"""Every route of the product; each app owns its own list."""

from django.urls import include, path

from webapp.api.routes import api
from webapp.health import health

urlpatterns = [
    path("health", health, name="health"),
    path("", include("webapp.ui.urls")),
    path("", include("webapp.accounts.urls")),
    path("v1/", include("webapp.ingest.urls")),
    path("api/v1/", api.urls),
    path("p/<slug:slug>/", include("webapp.telemetry.urls")),
    path("p/<slug:slug>/", include("webapp.costs.urls")),
    path("p/<slug:slug>/", include("webapp.drift.urls")),
    path("p/<slug:slug>/", include("webapp.whatif.urls")),
    path("p/<slug:slug>/", include("webapp.servers.urls")),
]

handler400 = "webapp.ui.errors.bad_request"
handler403 = "webapp.ui.errors.forbidden"
handler404 = "webapp.ui.errors.not_found"
