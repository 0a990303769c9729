"""A plan with everything at its plainest."""

from __future__ import annotations

from typing import Any

import msgspec

from yarnspec.options import Options, default_options
from yarnspec.plan import ExecutorSize, Plan, Program


def keeping(enabled: bool) -> Options:
    """The options with recovery on or off."""
    options = default_options()
    return msgspec.structs.replace(options, recovery=msgspec.structs.replace(options.recovery, enabled=enabled))


def plan(**more: Any) -> Plan:
    fields: dict[str, Any] = {
        "name": "etl",
        "user": "me",
        "queue": "default",
        "program": Program(primary="app.py", arguments=(b"2026-11-20",)),
        "executors": ExecutorSize(heap_mb=1024, container_memory_mb=1408, cores=2),
        "initial_executors": 2,
        "placement_mode": "blacklist",
        "python": "/venv/bin/python",
        "driver_python": "/venv/bin/python",
        "worker_python": "/venv/bin/python",
        "driver_heap_mb": 1024,
        "history_directory": "hdfs://nn/user/me/.yarnspec/history",
        "options": default_options(),
    }
    return Plan(**(fields | more))
