"""Where the state of one installation lies, and where its sockets can."""

import hashlib
import os
import stat
import tempfile
from pathlib import Path

# The kernel's limit for a Unix socket's path is 107 bytes; this is the longest name we put there.
_LONGEST_PATH = 107
_LONGEST_NAME = "/.s.PGSQL.5432.lock"


class CannotStart(Exception):
    """One sentence for whoever started this: what is wrong, and what to do."""


def socket_dir(var: Path) -> Path:
    """The folder for sockets: `var/run`, or a private one under /tmp where that is too long."""
    usual = var / "run"
    if len(os.fsencode(usual)) + len(_LONGEST_NAME) <= _LONGEST_PATH:
        return usual
    digest = hashlib.sha256(os.fsencode(var.resolve())).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"inferometer-{os.geteuid()}-{digest}"


def make_private(folder: Path) -> Path:
    """Make a folder only its owner may enter; CannotStart where somebody else's is in its place."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise CannotStart(f"{folder} belongs to somebody else; remove it and start again.")
        folder.chmod(0o700)
    except OSError as error:
        raise CannotStart(
            f"The folder {folder} cannot be made ({error.strerror}); "
            "set INFEROMETER_VAR to one that can."
        ) from error
    return folder
