from datetime import UTC, datetime

import pytest

from tests.browser.traffic import fill


@pytest.fixture
def filled(project):
    """The project with two days of traffic; an engine call, and the id of an agent's trace."""
    return fill(project, datetime.now(UTC), count=300)
