"""`yarnspec plan`: a picture of where containers would go, or of where they are."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from yarnspec.cli.printing import plain, print_document, settings_in_effect, stdout_console
from yarnspec.errors import UsageError
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.cluster.application_list import LAST
from yarnspec.gateway.flags.arguments import SubmitCommand
from yarnspec.gateway.flags.request import SubmitRequest
from yarnspec.gateway.submit.placement_plan import (
    PlacementPlan,
    PlannedContainer,
    PlannedHost,
    plan_of_application,
    plan_of_request,
)
from yarnspec.ids import is_application_id
from yarnspec.observe.forms.document import ProfileStatus

_MARKS = {"RUNNING": "●", "ALLOCATED": "◐", "planned": "○", "asked": "○"}
_MOST_MARKS = 8
_ANYWHERE = "any host"

EXAMPLES = """
\b
Examples:
  yarnspec plan --num-executors 8 --executor-cores 2 job.py
  yarnspec plan --num-executors 8 --set placement.max_per_host=2 -o json job.py
  yarnspec plan application_1700000000000_0001
"""


def run(request: SubmitRequest) -> int:
    """Print the plan of a submit, or the picture of an application."""
    if request.program == LAST or is_application_id(request.program):
        if request.arguments:
            given = " ".join(map(str, request.arguments))
            raise UsageError(f"{given}: options come first: yarnspec plan {given} {request.program}")
        settings = settings_in_effect(Path(request.config_file) if request.config_file else None, request.settings)
        with Application.from_id(request.program, settings=settings) as found:
            plan = plan_of_application(found)
    else:
        plan = plan_of_request(request)
    if request.output == "table":
        print_plan(plan, stdout_console())
    else:
        print_document(plan, request.output)
    return 0


def print_plan(plan: PlacementPlan, console: Console) -> None:
    """One line for each host, a box for each container, a mark for each slot; the rules below."""
    names = [one.host for one in plan.hosts] + [_ANYWHERE] * bool(plan.anywhere)
    width = max(map(len, names), default=0)
    for host in plan.hosts:
        console.print(plain(f"{host.host:<{width}}  {_free(host):>10}  {_boxes(host)}"), soft_wrap=True)
    if plan.anywhere:
        console.print(plain(f"{_ANYWHERE:<{width}}  {'':>10}  {' '.join(map(_box, plan.anywhere))}"), soft_wrap=True)
    if plan.why_not_asked_for:
        console.print(plain(plan.why_not_asked_for), soft_wrap=True)
    console.print()
    console.print(plain(f"mode {plan.mode}" + (f", constraint {plan.constraint}" if plan.constraint else "")))
    for line in (*map(_size, plan.profiles), *plan.rules, *plan.relaxed, *plan.warnings):
        console.print(plain(line), soft_wrap=True)
    what = "executor profile rule slots" if plan.profiles else "executor rule slots"
    console.print(plain(f"[{what}]  ● runs  ◐ has its container  ○ is asked for, or would be"))


def _free(host: PlannedHost) -> str:
    return f"{host.free_memory_mb / 1024:.1f}g free"


def _boxes(host: PlannedHost) -> str:
    return " ".join([*map(_box, host.containers), *([f"takes none: {host.why_not}"] if host.why_not else [])])


def _box(one: PlannedContainer) -> str:
    slots = _MARKS[one.state] * max(1, min(one.slots, _MOST_MARKS)) + ("…" if one.slots > _MOST_MARKS else "")
    profile = f"profile {one.profile}" if one.profile else ""
    return f"[{' '.join(filter(None, (one.executor_id, profile, one.rule, slots)))}]"


def _size(one: ProfileStatus) -> str:
    types = "".join(f", {amount} of {name}" for name, amount in sorted(one.resources.items()))
    return (
        f"profile {one.id}: {one.wanted} executors are wanted, each with {one.memory_mb} MiB, {one.cores} cores{types} "
        f"and {one.slots} slots"
    )


command = SubmitCommand(
    name=Path(__file__).stem,
    callback=run,
    short_help="Show where an application's containers would go, or where they are.",
    help="Show where the containers of a program would be asked for, and the rule behind each. With the id of an "
    "application instead, show where its containers are. The flags are those of `yarnspec submit`, but nothing is "
    "submitted.",
    epilog=EXAMPLES,
)
