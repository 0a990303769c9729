"""GPUs and other resource types: what Spark's properties ask of YARN, and what is wrong in them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yarnspec.errors import UsageError
from yarnspec.gateway.translation.resource_types import of_containers, tasks_at_once
from yarnspec.gateway.translation.sizes import plan_sizes
from yarnspec.options import default_options


def test_sparks_names_become_yarns() -> None:
    properties = {
        "spark.executor.resource.gpu.amount": "2",
        "spark.executor.resource.gpu.discoveryScript": "./gpus.sh",
        "spark.executor.resource.pen.amount": "1",
        "spark.executor.resource.none.amount": "0",
        "spark.yarn.executor.resource.acme.io/nib.amount": "3",
        "spark.driver.resource.fpga.amount": "1",
        "spark.yarn.driver.resource.acme.io/nib.amount": "1",
        "spark.yarn.am.resource.acme.io/nib.amount": "2",
        "spark.yarn.resourceFpgaDeviceName": "acme.io/fpga",
    }
    sizes = plan_sizes(properties, default_options())
    assert sizes.executor.resources == {"yarn.io/gpu": 2, "pen": 1, "acme.io/nib": 3}
    assert sizes.am_resources == {"acme.io/fpga": 1, "acme.io/nib": 2}
    assert of_containers({}) == ({}, {})


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"spark.executor.resource.gpu.amount": "half"}, "'half' must be a whole number"),
        ({"spark.yarn.executor.resource.pen.amount": "2g"}, "in the unit that the cluster has for pen"),
        ({"spark.executor.resource.gpu.amount": "-1"}, "whole number"),
        ({"spark.executor.resource.gpu.discoveryScript": "x"}, "spark.executor.resource.gpu.amount is missing"),
        ({"spark.yarn.executor.resource.gpu": "1"}, r"write spark.yarn.executor.resource.gpu.amount"),
        ({"spark.yarn.executor.resource.memory.amount": "1"}, "use spark.executor.memory instead"),
        ({"spark.yarn.executor.resource.memory-mb.amount": "1"}, "use spark.executor.memory instead"),
        ({"spark.yarn.executor.resource.mb.amount": "1"}, "use spark.executor.memory instead"),
        ({"spark.yarn.executor.resource.cores.amount": "1"}, "use spark.executor.cores instead"),
        ({"spark.yarn.executor.resource.vcores.amount": "1"}, "use spark.executor.cores instead"),
        (
            {"spark.yarn.driver.resource.memory.amount": "1", "spark.yarn.am.resource.cores.amount": "1"},
            "driver.resource.memory.amount: use spark.driver.memory instead; spark.yarn.am.resource.cores.amount: use",
        ),
        (
            {"spark.executor.resource.gpu.amount": "1", "spark.yarn.executor.resource.yarn.io/gpu.amount": "1"},
            "spark.executor.resource.gpu.amount asks for the same",
        ),
        ({"spark.task.resource.gpu.amount": "0"}, "must be a number above 0"),
    ],
)
def test_what_is_wrong_is_named(properties: dict[str, str], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        plan_sizes(properties, default_options())


def test_everything_that_may_not_be_there_is_named_at_once() -> None:
    keys = [f"spark.yarn.{role}.resource.memory.amount" for role in ("executor", "am", "driver")]
    for role, device in itertools.product(("executor", "driver"), ("gpu", "fpga")):
        keys += [f"spark.{role}.resource.{device}.amount", f"spark.yarn.{role}.resource.yarn.io/{device}.amount"]
    with pytest.raises(UsageError) as caught:
        plan_sizes(dict.fromkeys(keys, "1"), default_options())
    assert all(key in caught.value.message for key in keys)


@pytest.mark.parametrize(
    ("executor", "task", "at_once"), [("2", "1", 2), ("2", "0.5", 4), ("3", "2", 1), ("4", "2", 2), ("1", "0.3", 3)]
)
def test_resources_limit_the_tasks_that_run_at_once(executor: str, task: str, at_once: int) -> None:
    properties = {"spark.executor.resource.gpu.amount": executor, "spark.task.resource.gpu.amount": task}
    assert tasks_at_once(properties) == at_once
    assert plan_sizes({**properties, "spark.executor.cores": "16"}, default_options()).executor.slots == at_once
    assert plan_sizes(properties, default_options()).executor.slots == 1, "cores count, too"
    assert tasks_at_once({}) is None


@given(st.dictionaries(st.from_regex(r"[a-z]{1,3}(\.io/[a-z]{1,3})?", fullmatch=True), st.integers(0, 99)))
def test_any_names_and_amounts_are_asked_for_as_they_are(amounts: dict[str, int]) -> None:
    properties = {f"spark.yarn.executor.resource.{name}.amount": str(amount) for name, amount in amounts.items()}
    if "mb" not in amounts:
        assert of_containers(properties) == ({name: amount for name, amount in amounts.items() if amount}, {})
