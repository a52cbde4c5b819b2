"""How tests in Python wait: for something to happen, with a limit for failures alone. Nothing else in them sleeps."""
import os
import time

SLOWNESS = max(1, int(os.environ.get("CMCP_TEST_SLOW", "1")))   # patience is multiplied by it, for machines that are emulated


def until(what, condition, limit=60):
    """What `condition` gives once that is true."""
    end = time.monotonic() + limit * SLOWNESS
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {limit * SLOWNESS} s")
        time.sleep(0.01)
    return found


def random_moment(chance, most):
    """For a fault that may come at any moment within `most` seconds: the test holds whichever it is."""
    time.sleep(chance.uniform(0, most))


def measured_span(seconds):
    """For figures that are an amount in a time, such as processor time while nothing happens."""
    time.sleep(seconds)
