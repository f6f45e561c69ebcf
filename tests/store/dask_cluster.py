"""A real Dask scheduler and worker processes on this machine, for tests."""

import json
import os
import subprocess
import sys
import time

# Workers slow each piece down, so that one can be killed while it computes.
WORKER_PRELOAD = """
import time
from sclcs.spi.engine import compute_block  # the original, however often Dask loads this file
from sclcs.store import work

def slow(*arguments, **options):
    time.sleep(0.05)
    return compute_block(*arguments, **options)

work.compute_block = slow
"""


class Cluster:
    def __init__(self, folder):
        self.folder = folder
        self.address_file = folder / "scheduler.json"
        self.scheduler = self._start(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            self.address_file,
        )
        while not (self.address_file.exists() and self.address_file.read_text().endswith("}")):
            assert self.scheduler.poll() is None, "the scheduler ended"
            time.sleep(0.05)  # the file is there before its content is
        self.address = json.loads(self.address_file.read_text())["address"]
        self.workers = []

    def add_worker(self):
        preload = self.folder / "slow_tasks.py"
        preload.write_text(WORKER_PRELOAD)
        number = len(self.workers)
        worker = self._start(
            "worker",
            self.address,
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
            "--name",
            str(number),
            "--local-directory",
            self.folder / f"w{number}",
            "--preload",
            preload,
            "--memory-limit",
            "0",
        )
        self.workers.append(worker)
        return worker

    def _start(self, *arguments):
        log = (self.folder / "dask.log").open("a")
        environment = os.environ | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s"}
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *map(str, arguments)],
            stdout=log,
            stderr=log,
            env=environment,
            cwd=self.folder,
        )

    def close(self):
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()
