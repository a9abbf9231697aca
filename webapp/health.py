"""Whether this process serves and reaches its database."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse


def health(request: HttpRequest) -> JsonResponse:
    try:
        with connection.cursor() as cursor:
            cursor.execute("select 1")
    except DatabaseError:
        return JsonResponse({"status": "the database cannot be reached"}, status=503)
    return JsonResponse({"status": "ok"})
