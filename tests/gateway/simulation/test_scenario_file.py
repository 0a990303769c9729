"""Scenarios in files: what they mean, and errors that name line and key."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from yarnspec.core.messages.events import BlockRequested, ScaleRequested, UnblockRequested
from yarnspec.core.messages.observations import NONE, StageFlag
from yarnspec.errors import UsageError
from yarnspec.gateway.simulation.comparison import variants
from yarnspec.gateway.simulation.scenario_file import read_scenario

SHIPPED = sorted((Path(__file__).parents[3] / "conf" / "scenarios").glob("*.yaml"))
LEAST = "hosts:\n  - {count: 2}\nexecutors: {count: 2}\njobs:\n  - stages:\n      - {tasks: 3}\n"


def test_a_scenario_means_what_it_says() -> None:
    plan = read_scenario(
        """
hosts:
  - {count: 2, executors: 3}
  - {name: slow, slow: 4, from: 10 s, until: 20 s, arrives: 5 s}
  - {name: more, count: 2, arrives: 1 s, every: 2 s, dies: 30 s, fails: 0.5}
executors: {min: 2, max: 5, cores: 4, container_after: [1 s, 2 s]}
scale: [{at: 9 s, min: 3, max: 6}]
block: [{host: slow, at: 4 s, for: 2 s}]
options:
  detector.kind: execution-time
  resources: {rescale_cooldown: 1 s}
jobs:
  - stages:
      - {tasks: 2, work: 3 s, input: 1k, python: true}
      - {works: [1 s, 2 s]}
  - stages:
      - {tasks: 1, commits: true}
""",
        "a.yaml",
    ).plan
    assert [life.plan.name for life in plan.hosts] == ["host1", "host2", "slow", "more1", "more2"]
    assert plan.hosts[2].plan.speeds == ((0, 1.0), (10_000, 4.0), (20_000, 1.0))
    assert [life.arrives_ms for life in plan.hosts] == [0, 0, 5_000, 1_000, 3_000]
    assert (plan.hosts[0].room, plan.slots, plan.container_ms) == (3, 4, (1_000, 2_000))
    assert plan.settings.initial_executors == 5
    assert plan.settings.resources.min_executors == 2
    assert plan.settings.resources.rescale_cooldown_ms == 1_000
    assert plan.settings.detector.kind == "execution-time"
    assert [at_ms for at_ms, _ in plan.wishes] == [4_000, 6_000, 9_000]
    assert [type(wish) for _, wish in plan.wishes] == [BlockRequested, UnblockRequested, ScaleRequested]
    first, second, third = (stage for job in plan.jobs for stage in job.stages)
    assert (first.work_ms, first.input_bytes) == ((3_000, 3_000), (1_024, 1_024))
    assert first.flags == StageFlag.MAP | StageFlag.PYTHON
    assert (second.parents, second.work_ms, second.input_bytes) == ((0,), (1_000, 2_000), (NONE, NONE))
    assert (third.parents, third.flags) == ((), StageFlag.COMMITS)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (LEAST.replace("count: 2}\nexec", "cuont: 2}\nexec"), 2, "hosts[0].cuont: there is no such key."),
        (LEAST.replace("tasks: 3", "tasks: many"), 6, "jobs[0].stages[0].tasks: 'many' must be a whole number"),
        (LEAST.replace("tasks: 3", "tasks: -1"), 6, "'-1' must be a whole number"),
        (LEAST.replace("tasks: 3", "tasks: 3, work: 5"), 6, "jobs[0].stages[0].work: '5' has no unit"),
        (LEAST.replace("tasks: 3", "tasks: 3, parents: [0]"), 6, "parents: a stage reads only stages before it"),
        (LEAST.replace("jobs:", "job:"), 4, "job: there is no such key. Did you mean 'jobs'"),
        (LEAST.replace("stages:", "stagse:"), 5, "jobs[0].stagse: there is no such key. Did you mean 'stages'"),
        (LEAST.replace("executors:", "executor:"), 3, "executor: there is no such key. Did you mean 'executors'"),
        (LEAST.replace("hosts:", "host:"), 1, "host: there is no such key. Did you mean 'hosts'"),
        (LEAST.replace("tasks: 3", "task: 3"), 6, "stages[0].task: there is no such key. Did you mean 'tasks'"),
        (LEAST.replace("tasks: 3", "tasks: 3, works: [1 s]"), 6, "stages[0].tasks: 'works' lists 1 tasks"),
        (LEAST + "block: [{at: 1 s}]\n", 7, "block[0].host: it must name a host"),
        (LEAST + "block: [{hots: host1}]\n", 7, "block[0].hots: there is no such key. Did you mean 'host'"),
        (LEAST.replace("tasks: 3", "work: 3 s"), 6, "it must say how many 'tasks' there are"),
        (LEAST.replace("{count: 2}\njobs", "{min: 3, max: 2}\njobs"), 3, "executors.min: at least 3 executors"),
        (LEAST.replace("{count: 2}\njobs", "{count: 2, die: 2}\njobs"), 3, "executors.die: '2' must be from 0 to 1"),
        (LEAST.replace("{count: 2}\njobs", "2\njobs"), 3, "executors: it must hold keys and values"),
        (LEAST + "options: {detector.kind: slow}\n", 7, "options.detector.kind: option 'detector.kind'"),
        (LEAST + "options: {detectr.kind: progress}\n", 7, "there is no option 'detectr.kind'"),
        (LEAST + "block: [{host: hots1}]\n", 7, "block[0].host: there is no host 'hots1'. Did you mean 'host1'"),
        (LEAST + "scale: [{min: 4, max: 3}]\n", 7, "scale[0].max: 'max' must be 4 or more"),
        (LEAST.replace("count: 2}\nexec", "count: 2, from: 4 s}\nexec"), 2, "hosts[0].from: it says when"),
        (LEAST.replace("count: 2}\nexec", "arrives: 9 s, dies: 9 s}\nexec"), 2, "hosts[0].dies: it must be later than"),
        (LEAST.replace("2}\nexec", "3, every: 5 s, dies: 8 s}\nexec"), 2, "hosts[0].dies: it must be later than"),
        (LEAST + "options: {blocklist.never_hosts: [[a]]}\n", 7, "options.blocklist.never_hosts: it must be one value"),
        (LEAST + "options: {resources.min_executors: 3}\n", 7, "options.resources.min_executors: write it in exec"),
        (LEAST + "options:\n  resources: {max_executors: 3}\n", 8, "options.resources.max_executors: write it in exec"),
        (LEAST + "seed: 1\nseed: 2\n", 8, "'seed' is there twice"),
        (LEAST + "sede: 1\n", 7, "sede: there is no such key. Did you mean 'seed'"),
        (LEAST + "  x: [\n", 7, "this is not YAML"),
        ("hosts: 3\n", 1, "hosts: it must be a list"),
        ("seed: 1\nhosts: []\n", 2, "hosts: there must be hosts"),
        ("hosts:\n  - {count: 2, slow: 0}\n", 2, "hosts[0].slow: '0' must be from 0.01 to 1000"),
        ("hosts:\n  - {count: 2}\n", 1, "jobs: there must be jobs"),
        (LEAST.replace("executors: {count: 2}", "executors:"), 3, "executors: it must hold keys and values"),
        (LEAST + "options: {placement.mode: blacklst}\n", 7, "'placement.mode' (scenario): 'blacklst' is none of"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_line_and_key(text: str, line: int, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_scenario(text, "a.yaml")
    assert f"a.yaml, line {line}" in str(refused.value)
    assert words in str(refused.value)


def test_without_executors_there_are_two() -> None:
    plan = read_scenario(LEAST.replace("executors: {count: 2}\n", ""), "a.yaml").plan
    assert plan == read_scenario(LEAST, "a.yaml").plan
    assert (plan.settings.initial_executors, plan.settings.resources.max_executors) == (2, 0)


def test_an_option_may_have_a_list() -> None:
    text = LEAST + "options:\n  blocklist:\n    never_hosts: [host1, host2]\n"
    assert read_scenario(text, "a.yaml").plan.settings.blocks.never == ("host1", "host2")


def test_options_that_the_simulator_does_not_use_are_told() -> None:
    options = (
        "{recovery.enabled: true, am.skein_memory: 2g, history.retention: 1 d, placement.tags: a, detector.noise: 1 s}"
    )
    warnings = read_scenario(LEAST + f"options: {options}\n", "a.yaml").warnings
    told = ["am.skein_memory", "history.retention", "placement.tags", "recovery.enabled"]
    assert warnings == tuple(f"a.yaml: options.{name} has no effect: the simulator does not use it" for name in told)


def test_an_empty_file_is_no_scenario() -> None:
    with pytest.raises(UsageError, match="it is empty"):
        read_scenario("# nothing\n", "a.yaml")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_shipped_scenarios_are_scenarios(path: Path) -> None:
    assert len(SHIPPED) == 3
    found = read_scenario(path.read_text(encoding="utf-8"), path.name, seed=7)
    assert (found.plan.seed, found.warnings) == (7, ())
    assert len({msgspec.json.encode(one.plan.settings) for one in variants(found)}) == 4
