"""A process that kills runs, for tests."""

# One process loads everything once; its children run, and are killed in a certain stage, or
# at random moments after it has begun.
KILL_IN_EVERY_STAGE = """
import json, os, random, signal, sys, time
from pathlib import Path
import sclcs.runs.costs as calibration
import sclcs.runs.check as run_check
from sclcs.run_folder import collect_config
from sclcs.runs import carry_out

run_check.CALIBRATION_SECONDS = 0.01
calibration._measure_start = lambda *_: calibration.Start(1.0, 1.0, 10**8)
options = json.loads(sys.argv[1])
config = collect_config(None, options)
warm = collect_config(None, {**options, "out": options["out"] + "-warm"})
carry_out(warm)  # loads and compiles what the children need
state = Path(options["out"]) / "state.json"
draw = random.Random(3)

def status(stage):
    try:
        return json.loads(state.read_text())["stages"][stage]["status"]
    except (OSError, ValueError, KeyError):
        return ""

killed = []
for stage in sys.argv[2:]:
    for delay in (0.0, draw.uniform(0, 0.05)):
        child = os.fork()
        if child == 0:
            carry_out(config)
            os._exit(0)
        while not (ended := os.waitpid(child, os.WNOHANG)[0]) and status(stage) != "running":
            time.sleep(0.0005)
        if ended:
            continue
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        killed.append(stage)
print(json.dumps(killed))
"""
