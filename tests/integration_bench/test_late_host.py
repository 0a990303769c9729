"""The bench of the late host says when a burst of executors was not one rescale."""

from __future__ import annotations

import pytest

from integration.bench.late_host import ARMS, BURST, Arm, Started, as_expected


def _found(arm: Arm, rescales: int) -> dict[Arm, list[Started]]:
    return {arm: [Started(first_wave=1.5, begun_s=36.0, job_s=67.0, rescales=rescales)]}


@pytest.mark.parametrize("rescales", [0, 2])
def test_a_burst_that_is_not_one_rescale_is_a_failure(rescales: int) -> None:
    assert as_expected(_found(BURST, 1))
    assert not as_expected(_found(BURST, rescales))


def test_more_rescales_than_bursts_are_a_failure_in_each_arm() -> None:
    assert not any(as_expected(_found(arm, 2)) for arm in ARMS)
