"""The end of an application: what is written, in which order."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import msgspec
import pytest

from yarnspec.am.end import ending
from yarnspec.am.executors.placement_file import PlacementFile
from yarnspec.am.loop.answers import Answers
from yarnspec.am.loop.output_readers import Patience
from yarnspec.core.messages.commands import FinishApplication
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.log.attempt_log import EventLogs
from yarnspec.observe.log.history import Result
from yarnspec.plan import PLACEMENT_FILE
from yarnspec.yarn.skein.am_client import ContainerServiceError

DOCUMENT = StatusDocument(application_id="application_1_0001", state="FAILED")
FAILED = FinishApplication(reason="the program failed", status="FAILED", exit_code=1, diagnostics="ValueError: no")


SUCCEEDED = FinishApplication(reason="done", status="SUCCEEDED", exit_code=0)


class Skein:
    """Skein's AM, which may be gone."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.gone = False

    def end(self, diagnostics: str) -> None:
        if self.gone:
            raise ContainerServiceError("no answer")
        self.told.append(diagnostics)


class Around:
    """Everything that the end touches, which notes when."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.order: list[str] = []
        self.skein = Skein()
        self.history_fails = False
        self.log_is_whole = True
        self.everybody_has_it = True
        self.problem = "HDFS is full"
        self.directory = directory
        self.placement = PlacementFile(directory, "blacklist", "a")
        write = self.placement.finish

        def finish(how: object) -> None:
            self.order.append("placement")
            write(how)  # type: ignore[arg-type]

        monkeypatch.setattr(self.placement, "finish", finish)

    def disk_is_full(self) -> None:
        # A directory in the temporary file's place: no user, root included, can write there.
        (self.directory / PLACEMENT_FILE).with_suffix(".new").mkdir()

    def end_streams(self, patience: Patience) -> bool:
        assert 0 < patience.first_s < patience.stalled_s < patience.longest_s
        self.order.append("output")
        return self.everybody_has_it

    def begin_close(self) -> None:
        self.order.append("log begins to close")

    def close(self, deadline_s: float) -> bool:
        assert deadline_s > 0
        self.order.append("log")
        return self.log_is_whole

    def finish(self, command: FinishApplication, document: StatusDocument) -> None:
        assert (command.exit_code in {0, 1}, document) == (True, DOCUMENT)
        self.order.append("history")
        if self.history_fails:
            raise OSError("HDFS is full")

    def end(self, command: FinishApplication = FAILED) -> bool:
        return ending.finish_application(
            command,
            answers=cast(Answers, self),
            log=cast(EventLogs, self),
            placement=self.placement,
            master=self.skein,
            history=self,
            document=lambda: DOCUMENT,
        )

    @property
    def told_yarn(self) -> dict[str, str]:
        found = msgspec.json.decode((self.directory / PLACEMENT_FILE).read_bytes())["finish"]
        assert isinstance(found, dict)
        return found


@pytest.fixture
def around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Around:
    return Around(tmp_path, monkeypatch)


def test_the_result_is_in_the_history_before_anybody_is_waited_for(around: Around) -> None:
    assert around.end()
    assert around.order == ["log begins to close", "history", "output", "log", "placement"]
    assert around.told_yarn == {"status": "FAILED", "diagnostics": "ValueError: no"}


def test_a_history_that_cannot_be_written_does_not_keep_yarn_waiting(around: Around) -> None:
    around.history_fails = True
    around.log_is_whole = False
    around.everybody_has_it = False
    assert around.end()
    assert around.told_yarn["status"] == "FAILED"


def test_the_reason_stands_where_there_are_no_diagnostics(around: Around) -> None:
    around.end(FinishApplication(reason="resources did not come", status="FAILED", exit_code=1))
    assert around.told_yarn["diagnostics"] == "resources did not come"


def test_long_diagnostics_keep_both_ends(around: Around) -> None:
    around.end(msgspec.structs.replace(FAILED, diagnostics="x" * 100_000 + "ValueError: no"))
    assert around.told_yarn["diagnostics"].startswith("x")
    assert around.told_yarn["diagnostics"].endswith("ValueError: no")
    assert len(around.told_yarn["diagnostics"]) < 20_000


def test_a_success_is_told_like_a_failure(around: Around) -> None:
    assert around.end(SUCCEEDED)
    assert around.told_yarn == {"status": "SUCCEEDED", "diagnostics": "done"}


def test_a_placement_that_cannot_be_written_is_told_to_skein_itself(around: Around) -> None:
    around.disk_is_full()
    assert around.end()
    (told,) = around.skein.told
    # The form that the provider reads: LastWordTest.java.
    assert told == 'yarnspec-finish:{"status":"FAILED","diagnostics":"ValueError: no"}'


def test_a_success_needs_neither_the_file_nor_skein(around: Around) -> None:
    around.disk_is_full()
    around.skein.gone = True
    assert around.end(SUCCEEDED)


def test_a_failure_that_nobody_hears_of_is_no_success(around: Around) -> None:
    around.disk_is_full()
    around.skein.gone = True
    assert not around.end()


def test_what_a_dead_attempt_had_written_is_told_by_the_next(around: Around) -> None:
    result = Result(status="FAILED", exit_code=1, reason="it failed", diagnostics="ValueError: no", finished_ms=1)
    assert ending.finish_again(result, placement=around.placement, master=around.skein)
    assert around.told_yarn == {"status": "FAILED", "diagnostics": "ValueError: no"}
    around.disk_is_full()
    around.skein.gone = True
    assert not ending.finish_again(result, placement=around.placement, master=around.skein)
