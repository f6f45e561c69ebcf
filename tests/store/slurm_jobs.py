"""Work for jobs of the tests, which find it by its name."""

import os
import signal
import time
from pathlib import Path


def square(number):
    return number * number


def note(item):
    """Write down that an item was begun; some kill their job, the first time or always."""
    folder, number, accident = item
    with (Path(folder) / "begun").open("a") as stream:
        stream.write(f"{number}\n")
    deaths = Path(folder) / f"died-{number}"
    if accident == "always" or (accident == "once" and not deaths.exists()):
        deaths.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if accident == "raise":
        raise ValueError(f"item {number} cannot be done")
    if accident == "slow":
        time.sleep(60)
    return number


def begun(folder):
    return sorted(int(line) for line in (Path(folder) / "begun").read_text().splitlines())
