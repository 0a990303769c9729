"""The rescale timeline that the records of an application say."""

from __future__ import annotations

from tests.observe.status.test_status_fold import attempt
from yarnspec.core.messages.commands import BeginRescale, EndRescale
from yarnspec.core.messages.events import DriverLost
from yarnspec.observe.status.resources import ResourcesFold


def test_a_rescale_ends_with_its_driver_also_in_logs_that_do_not_say_so() -> None:
    fold = ResourcesFold()
    fold.apply(attempt(), 1)
    fold.apply(BeginRescale(number=1, cause="new requirements", wanted=8, before=4, reason="asked"), 10)
    fold.apply(DriverLost(exit_code=134, reason="SIGABRT"), 20)
    status = fold.status(5)
    assert status is not None
    (lost,) = status.rescales
    assert (lost.end_ms, lost.why) == (20, "the driver was lost")

    fold.apply(EndRescale(number=1, got=6, why="the driver was lost", reason="it died"), 20)
    status = fold.status(5)
    assert status is not None
    (told,) = status.rescales
    assert (told.end_ms, told.got, told.why) == (20, 6, "the driver was lost")
