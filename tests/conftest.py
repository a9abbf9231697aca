"""Fixtures every test may use: a real PostgreSQL and Redis, and projects with members."""

import os

os.environ.setdefault("INFEROMETER_SECRET_KEY", "tests-" + "0" * 50)
