"""Start a script as a shell starts a command in the foreground."""

from __future__ import annotations

import signal
import subprocess
import sys


def start_in_foreground(script, *arguments):
    """Start a script as the leader of its own group, with Ctrl-C in force.

    A suite that itself runs in the background ignores Ctrl-C, and its children inherit that.
    """
    return subprocess.Popen(
        [sys.executable, script, *arguments],
        start_new_session=True,
        preexec_fn=_obey_ctrl_c,  # noqa: PLW1509 - no threads of ours at this point
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _obey_ctrl_c():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
