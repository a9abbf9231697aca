"""`python -m webapp.embedded up` starts everything; `run NAME` is one line of the Procfile."""

import os
import sys

from webapp.embedded import preflight, setup_job
from webapp.embedded.installation import ROOT, Installation
from webapp.embedded.jobs import jobs
from webapp.embedded.keeper import Keeper
from webapp.embedded.paths import CannotStart

_SUPERVISOR = "INFEROMETER_SUPERVISOR"


def main(words: list[str]) -> int:
    try:
        installation = Installation.from_environment()
        if words == ["up"]:
            return _up(installation)
        if len(words) == 2 and words[0] == "run":
            return _run(installation, words[1])
    except CannotStart as error:
        print(f"inferometer: {error}", file=sys.stderr)
        return 1
    print("usage: python -m webapp.embedded up | run NAME", file=sys.stderr)
    return 2


def _up(installation: Installation) -> int:
    """Check what can be checked, then become the supervisor."""
    preflight.check(installation)
    installation.ready.unlink(missing_ok=True)
    os.chdir(ROOT)
    # Each process works out the embedded addresses for itself: whether they are set says whose
    # database and broker these are.
    environment = {
        **os.environ,
        "INFEROMETER_VAR": str(installation.var),
        "INFEROMETER_PYTHON": sys.executable,
        "PYTHONUNBUFFERED": "1",
        _SUPERVISOR: str(os.getpid()),
    }
    names = ["setup", *jobs(installation)]
    honcho = [sys.executable, "-m", "honcho", "-f", "Procfile", "start", *names]
    os.execve(honcho[0], honcho, environment)


def _run(installation: Installation, name: str) -> int:
    if name == "setup":
        return setup_job.run(installation)
    job = jobs(installation).get(name)
    if job is None:
        known = ", ".join(jobs(installation))
        raise CannotStart(f"There is no process {name!r}; there are {known}.")
    os.environ.update(installation.environment())
    supervisor = os.environ.get(_SUPERVISOR)
    return Keeper(job, int(supervisor) if supervisor else None).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
