"""Waits for a condition without guessing how long it takes."""

import time


def until(condition, timeout_s=20.0, what="the condition"):
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come true in {timeout_s} s")
