"""`python -m integration.bench simulator`: how long ten thousand hosts with a hundred thousand tasks are simulated.

Every kind of fault is in the scenario (``many_hosts.yaml``), and all hosts must get tasks. Each run is a process of its
own, with another PYTHONHASHSEED: they must have the same hash.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console

SCENARIO = Path(__file__).with_name("many_hosts.yaml")
AIM_S = 60.0
RUNS = 3


def run(console: Console, runs: int = RUNS) -> bool:
    """Simulate it a few times; whether each was quick enough, all hosts got tasks, and all were the same."""
    digests: set[str] = set()
    slowest_s = 0.0
    complete = True
    for number in range(runs):
        begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [str(Path(sys.executable).with_name("yarnspec")), "simulate", str(SCENARIO), "-o", "json"],
            env={**os.environ, "PYTHONHASHSEED": str(number + 1)}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        took_s, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        (outcome,) = json.loads(done.stdout)["runs"]
        digests.add(outcome["digest"])
        slowest_s = max(slowest_s, took_s)
        complete &= outcome["hosts_used"] == outcome["hosts"] and all(
            outcome[kind] for kind in ("failed_attempts", "copies", "blocked_hosts")
        )
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        console.print(
            f"{outcome['hosts_used']:,} of {outcome['hosts']:,} hosts with tasks, {outcome['tasks']:,} tasks: "
            f"{took_s:.1f} s ({cpu_s:.1f} s of CPU time), "
            f"{outcome['state']} after {outcome['took_ms'] / 1000:.0f} virtual seconds, "
            f"{outcome['executors']:,} executors, "
            f"{outcome['failed_attempts']:,} attempts failed, {outcome['copies']} copies, "
            f"{outcome['blocked_hosts']} hosts blocked, trace {outcome['digest'][:16]}"
        )
    console.print(f"aim: less than {AIM_S:.0f} s, tasks on all hosts, faults and copies, and one hash ({len(digests)})")
    return slowest_s < AIM_S and complete and len(digests) == 1
