"""Settings, all from the environment (prefix INFEROMETER_, besides DATABASE_URL and REDIS_URL)."""

from pathlib import Path

import plotly
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from webapp import environment as env
from webapp.embedded import broker, postgres

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(env.text("INFEROMETER_VAR", str(BASE_DIR / "var")))

DEBUG = env.boolean("INFEROMETER_DEBUG", False)
SECRET_KEY = env.text("INFEROMETER_SECRET_KEY", "")
_secret_file = VAR_DIR / "secret_key"
if not SECRET_KEY and _secret_file.is_file():
    SECRET_KEY = _secret_file.read_text().strip()
if not SECRET_KEY and DEBUG:
    SECRET_KEY = "only-for-debugging-" + "0" * 40
if not SECRET_KEY:
    raise ImproperlyConfigured(
        "INFEROMETER_SECRET_KEY is not set; set it to 50 random characters, or start with "
        "`make up`, which writes var/secret_key."
    )
ALLOWED_HOSTS = env.names("INFEROMETER_ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.names("INFEROMETER_TRUSTED_ORIGINS", [])

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django.contrib.postgres",
    "django_htmx",
    "webapp.accounts",
    "webapp.servers",
    "webapp.telemetry",
    "webapp.costs",
    "webapp.drift",
    "webapp.whatif",
    "webapp.ui",
    "webapp.embedded",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "webapp.urls"
WSGI_APPLICATION = "webapp.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "webapp.ui.context.page",
            ],
        },
    }
]

DATABASES = {"default": env.database(env.text("DATABASE_URL") or postgres.url(VAR_DIR))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "accounts:sign-in"
LOGIN_REDIRECT_URL = "ui:home"
LOGOUT_REDIRECT_URL = "accounts:sign-in"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = env.boolean("INFEROMETER_HTTPS", False)
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# Charts need inline styles (toolbars and legends fall apart without); scripts never do.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF, "'unsafe-inline'"],
        "img-src": [SELF, "data:", "blob:"],
        "frame-ancestors": [NONE],
        "form-action": [SELF],
        "base-uri": [SELF],
        "object-src": [NONE],
    }
}

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [("vendor/plotly", Path(plotly.__file__).parent / "package_data")]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024  # forms; the OTLP endpoint has a cap of its own

CELERY_BROKER_URL = env.text("REDIS_URL") or broker.url(VAR_DIR)
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_TIME_LIMIT = 900
CELERY_TIMEZONE = "UTC"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 1200}
CELERY_TASK_ROUTES = {
    "telemetry.*": {"queue": "rollup"},
    "costs.*": {"queue": "rollup"},
    "drift.*": {"queue": "rollup"},
    "whatif.*": {"queue": "whatif"},
    "reports.*": {"queue": "reports"},
}
CELERY_BEAT_SCHEDULE: dict[str, dict[str, object]] = {
    # Cheap (one statement when idle); owner: telemetry.
    "fold-rollups": {"task": "telemetry.fold_rollups", "schedule": 10.0},
    # A few DDL statements a day; owner: telemetry.
    "keep-partitions": {"task": "telemetry.keep_partitions", "schedule": 3600.0},
    # One pass over the open hours of each priced server; owner: costs.
    "settle-ledger": {"task": "costs.settle_ledger", "schedule": 300.0},
    # One pass over running what-ifs whose worker fell silent; owner: whatif.
    "rescue-runs": {"task": "whatif.rescue_runs", "schedule": 60.0},
}
# The broker's scheduler state must not land in the working directory.
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "celerybeat-schedule")

INFEROMETER = {
    # Largest OTLP body after decompression, in bytes.
    "MAX_OTLP_BYTES": env.integer("INFEROMETER_MAX_OTLP_BYTES", 64 * 1024 * 1024, minimum=1024),
    # Days a span is kept before its partition is dropped.
    "SPAN_RETENTION_DAYS": env.integer("INFEROMETER_SPAN_RETENTION_DAYS", 30, minimum=1),
    # Distinct rollup series a project may open; the rest counts under "other".
    "MAX_SERIES": env.integer("INFEROMETER_MAX_SERIES", 2000, minimum=10),
    # Stated default price of the embedded engine, USD per hour: an assumption shown as one.
    "ENGINE_PRICE_PER_HOUR": env.text("INFEROMETER_ENGINE_PRICE_PER_HOUR", "0.10"),
    # Where `make up` listens.
    "WEB_PORT": env.integer("INFEROMETER_WEB_PORT", 8000, minimum=1),
    "ENGINE_PORT": env.integer("INFEROMETER_ENGINE_PORT", 8100, minimum=1),
    "GATEWAY_PORT": env.integer("INFEROMETER_GATEWAY_PORT", 8200, minimum=1),
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": env.text("INFEROMETER_LOG_LEVEL", "INFO")},
}
