"""The `sclcs` command without its start: a process that has loaded everything, and forks.

Pages of the documentation call the command more than a hundred times, and half of what they take
is Python loading packages. Here one process loads them once; every call is a fork of it, with the
caller's arguments, folder, environment and streams, which ends as the command would.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import socket
import subprocess
import sys
import threading
from array import array
from contextlib import contextmanager, suppress
from pathlib import Path

SHIM = """#!{python} -IS
import json, os, socket, sys
from array import array
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
asked = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
streams = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [0, 1, 2]))]
server.sendmsg([len(asked).to_bytes(8, "big")], streams)
server.sendall(asked)
answer = server.recv(1)
sys.exit(answer[0] if answer else 1)
"""


@contextmanager
def started(folder):
    """Start the server; yield a folder with a `sclcs` that asks it, for the front of PATH."""
    address, place = folder / "socket", folder / "bin"
    place.mkdir(parents=True)
    shim = place / "sclcs"
    shim.write_text(SHIM.format(python=sys.executable, address=str(address)), encoding="utf-8")
    shim.chmod(0o755)
    command = [sys.executable, str(Path(__file__)), str(address)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout.readline() == "ready\n"
        yield place
        server.terminate()


def serve(address):
    """Answer until the end."""
    _load()
    gc.freeze()  # what is loaded stays shared by all forks
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            caller, _ = door.accept()
            child = os.fork()
            if child == 0:
                _end(_call(caller))
            threading.Thread(target=_report, args=(child, caller)).start()


def _load():
    import sclcs

    for module in pkgutil.walk_packages(sclcs.__path__, "sclcs."):
        if module.name != "sclcs.__main__":
            with suppress(ImportError):  # an extra that is not installed
                importlib.import_module(module.name)
    for name in ("matplotlib.pyplot", "scipy.stats", "sklearn.covariance", "torch", "zarr"):
        with suppress(ImportError):
            importlib.import_module(name)


def _call(caller):
    """Be the command that the caller asked for."""
    streams = array("i")
    head, attached, *_ = caller.recvmsg(8, socket.CMSG_LEN(3 * streams.itemsize))
    streams.frombytes(attached[0][2])
    left, parts = int.from_bytes(head, "big"), []
    while left:
        parts.append(caller.recv(left))
        left -= len(parts[-1])
    sys.argv, folder, environment = json.loads(b"".join(parts))
    caller.close()
    for own, given in enumerate(streams):
        os.dup2(given, own)
        os.close(given)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    from sclcs.cli.main import main

    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _end(code):
    """End without taking all modules apart, which would cost more than loading them."""
    threading._shutdown()  # as the interpreter does it: first threads and what they wait for
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _report(child, caller):
    _, status = os.waitpid(child, 0)
    with caller, suppress(OSError):
        caller.send(bytes([os.waitstatus_to_exitcode(status) % 256]))


if __name__ == "__main__":
    serve(sys.argv[1])
