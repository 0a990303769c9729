"""The live page: what was read so far, drawn once for all who look."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import html5lib
import pytest
from starlette.testclient import TestClient

from tests.gateway.cluster import HandMadeCluster, report
from tests.observe.page.records_to_draw import APP, attempt, begun, recorded, task, told
from yarnspec.core.messages import commands, events
from yarnspec.errors import ClusterUnreachable
from yarnspec.gateway.application.handle import Application
from yarnspec.livepage.history_page import write_report
from yarnspec.livepage.page_follower import Drawn, Follower
from yarnspec.livepage.server import NEWS, SAME, make_app
from yarnspec.observe.forms.document import Final, StatusDocument
from yarnspec.observe.forms.records import Record, encode
from yarnspec.observe.http.page_order import PageOrder, copied_events, stop_copy
from yarnspec.observe.log.history import ApplicationRecord, History, Result
from yarnspec.observe.status.status_fold import StatusFold
from yarnspec.yarn.files.local_files import LocalFiles

STAGE = events.StageStarted(stage=0, stage_attempt=0, name="count", tasks=2)
BEGUN = begun(7, host="w7", index=1)


class Negotiator:
    """What the REST would say."""

    def __init__(self) -> None:
        self.document = StatusDocument(application_id=APP, name="job", state="RUNNING", phase="executing", attempt=1)
        self.silent = False

    def status(self) -> StatusDocument:
        if self.silent:
            raise ClusterUnreachable("no answer")
        return self.document


@pytest.fixture
def negotiator() -> Negotiator:
    return Negotiator()


def write(directory: Path, records: list[Record], epoch: int = 1) -> None:
    with (directory / copied_events(epoch)).open("ab") as file:
        file.write(b"".join(encode(one) for one in records))


def follower(
    directory: Path, negotiator: Negotiator, earlier: list[Record | ClusterUnreachable] | None = None, first: int = 1
) -> Follower:
    order = PageOrder(
        application_id=APP, prefix="p", directory=str(directory), first_epoch=first, history_directory="/h", url="u",
        token="t",
    )  # fmt: skip

    def before() -> Iterator[Record | ClusterUnreachable]:
        yield from earlier or []

    return Follower(order, negotiator, before, clock_ms=lambda: 1_750_000_010_000, least_pause_s=0)


def test_what_is_written_appears_and_what_has_not_changed_is_not_drawn_again(
    tmp_path: Path, negotiator: Negotiator
) -> None:
    page = follower(tmp_path, negotiator)
    assert "No host has had anything to do" in page.now().whole
    records = told(attempt(), STAGE, task(0))
    write(tmp_path, records)
    drawn = page.now()
    assert "<b>w1</b>" in drawn.body
    assert page.now() is drawn
    html5lib.HTMLParser(strict=True).parse(drawn.whole)
    write(tmp_path, told(attempt(), STAGE, task(0), BEGUN)[3:])
    assert "<b>w7</b>" in page.now().body
    assert page.now() is not page.now()  # what runs grows


def test_a_line_that_is_half_written_is_read_when_it_is_whole(tmp_path: Path, negotiator: Negotiator) -> None:
    page = follower(tmp_path, negotiator)
    first, second = (encode(one) for one in told(attempt(), commands.Warn(reason="half")))
    file = tmp_path / copied_events(1)
    file.write_bytes(first + second[:20])
    page.now()
    file.write_bytes(first + second)
    assert "damaged" not in page.now().body
    assert "half" in page.now().body


def test_records_that_stand_twice_in_the_copy_count_once(tmp_path: Path, negotiator: Negotiator) -> None:
    page = follower(tmp_path, negotiator)
    failed = task(1, host="w9", state="FAILED", failure="no space left")
    records = told(attempt(), STAGE, commands.Warn(reason="first"), failed, task(0))
    write(tmp_path, records[:4])
    page.now()
    write(tmp_path, records[2:])
    assert page.now().body.count(">Warn</th>") == 1
    assert "has all 5." in page.now().body


def test_a_long_copy_is_never_in_memory_as_a_whole(tmp_path: Path, negotiator: Negotiator) -> None:
    page = follower(tmp_path, negotiator)
    [*_, last] = told(attempt(), commands.Warn(reason="a long one " * 100))
    write(tmp_path, [last])
    page.now()
    write(tmp_path, [last] * 8_000)
    size_bytes = (tmp_path / copied_events(1)).stat().st_size
    tracemalloc.start()
    try:
        page.now()
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < size_bytes / 4


def test_a_copy_that_stopped_is_told(tmp_path: Path, negotiator: Negotiator) -> None:
    page = follower(tmp_path, negotiator)
    write(tmp_path, told(attempt(), STAGE, task(0)))
    assert "no longer copies its records" not in page.now().body
    stop_copy(tmp_path / copied_events(1))
    assert "no longer copies its records" in page.now().body
    write(tmp_path, told(commands.BeginEpoch(reason="it died", epoch=2, restart=1), epoch=2), epoch=2)
    assert "no longer copies its records" not in page.now().body
    assert "The records of driver epoch 1 stop at" in page.now().body


def test_a_process_that_starts_again_gives_other_tags(tmp_path: Path, negotiator: Negotiator) -> None:
    write(tmp_path, told(attempt(), STAGE, task(0)))
    assert follower(tmp_path, negotiator).now().tag != follower(tmp_path, negotiator).now().tag


def test_the_driver_dies_and_the_next_epoch_follows(tmp_path: Path, negotiator: Negotiator) -> None:
    page = follower(tmp_path, negotiator)
    lost = events.DriverLost(exit_code=137, reason="killed")
    write(tmp_path, told(attempt(), STAGE, task(0), lost))
    page.now()
    write(tmp_path, told(commands.BeginEpoch(reason="it died", epoch=2, restart=1), STAGE), epoch=2)
    body = page.now().body
    assert "the driver died (exit code 137): killed" in body
    assert "driver epoch 2 begins: it died" in body


def test_attempts_that_ran_when_the_driver_or_the_master_died_stay_on_the_page(
    tmp_path: Path, negotiator: Negotiator
) -> None:
    lost = events.DriverLost(exit_code=137, reason="killed")
    earlier = told(attempt(), STAGE, BEGUN, begun(8, host="w8"))
    write(tmp_path, told(attempt(2, "it was killed"), STAGE, begun(9, host="w9"), lost, epoch=6), epoch=6)
    body = follower(tmp_path, negotiator, [*earlier], first=6).now().body
    told_of = r"<title>task 0.\d+, attempt 0, executor 1: lost with the driver, [^:<]*: ([^<]*)</title>"
    over, died = "driver epoch 1 was over", "the driver died (exit code 137)"
    assert sorted(re.findall(told_of, body)) == [over, over, died]


def test_earlier_attempts_come_out_of_the_history(tmp_path: Path, negotiator: Negotiator) -> None:
    earlier: list[Record | ClusterUnreachable] = [*told(attempt()), ClusterUnreachable("a file is damaged")]
    write(tmp_path, told(attempt(2, "it was killed"), epoch=6), epoch=6)
    body = follower(tmp_path, negotiator, earlier, first=6).now().body
    assert "application attempt 2 begins" in body
    assert "a file is damaged" in body


def test_a_silent_negotiator_leaves_the_records(tmp_path: Path, negotiator: Negotiator) -> None:
    negotiator.silent = True
    write(tmp_path, [*told(attempt(), STAGE, task(0))])
    with (tmp_path / copied_events(1)).open("ab") as file:
        file.write(b"no record\n")
    body = follower(tmp_path, negotiator).now().body
    assert "The negotiator does not answer just now" in body
    assert "<b>w1</b>" in body
    assert "1 damaged record was passed over" in body


def test_the_page_of_one_that_has_ended_is_written_into_its_history(tmp_path: Path) -> None:
    write(tmp_path, told(attempt(), STAGE, task(0)))
    history = History(LocalFiles(home=tmp_path), f"{tmp_path}/history")
    history.begin(ApplicationRecord(application_id=APP, name="job", user="me", queue="q", started_ms=1))
    assert history.report(APP) is None
    final = Final(status="SUCCEEDED", exit_code=0, reason="the program ended")
    last = StatusDocument(application_id=APP, name="job", state="SUCCEEDED", finished_ms=1_750_000_009_000, final=final)
    order = PageOrder(
        application_id=APP, prefix="", directory=str(tmp_path), first_epoch=1, history_directory="/h", url="u",
        token="t", last=last,
    )  # fmt: skip
    write_report(order, history)
    path = history.report(APP)
    assert path is not None
    text = Path(path).read_text()
    assert "It succeeded after" in text
    assert "<b>w1</b>" in text
    assert "data-body" not in text


def test_every_answer_has_a_body_and_says_whether_there_is_news() -> None:
    class Drawings:
        def now(self) -> Drawn:
            return Drawn("1.7-2", "part", "whole")

    client = TestClient(make_app(Drawings(), "p"))
    whole = client.get("/p/")
    assert (whole.status_code, whole.text, whole.headers["cache-control"]) == (200, "whole", "no-store")
    assert "etag" not in whole.headers
    assert client.get("/p/body?after=1.7-2").text == SAME
    assert client.get("/p/body?after=1.6-1").text == f"{NEWS}part"
    assert client.get("/p/body").text == f"{NEWS}part"
    assert client.get("/other/").status_code == 404
    assert client.get("/other/").text


def sections(page: str) -> dict[str, str]:
    """The sections of a page by their names."""
    return dict(re.findall(r'<section id="(\w+)"(.*?)</section>', page, re.DOTALL))


@pytest.mark.parametrize("history", ["simulated", "three epochs, two attempts"])
def test_the_last_live_page_and_the_report_have_the_same_sections(
    tmp_path: Path, negotiator: Negotiator, history: str
) -> None:
    """Both draw the whole history: the one as it comes, with drawings in between, the other out of the files."""
    end = commands.FinishApplication(reason="the program ended", status="SUCCEEDED", exit_code=0)
    records = recorded(18) if history == "simulated" else [
        *told(attempt(), STAGE, task(0), BEGUN, commands.Warn(reason="first")),
        *told(attempt(2, "it was lost"), STAGE, begun(9, index=1), events.DriverLost(exit_code=137, reason="killed"),
              epoch=6, step_ms=9_000),
        *told(commands.BeginEpoch(reason="it died", epoch=7, restart=1), STAGE, task(0), task(1), end,
              epoch=7, step_ms=30_000),
    ]  # fmt: skip
    cluster = HandMadeCluster(tmp_path)
    cluster.history.begin(ApplicationRecord(application_id=APP, name="job", user="me", queue="default", started_ms=5))
    status = StatusFold(APP)
    by_epoch = {epoch: list(one) for epoch, one in groupby(records, lambda one: one.epoch)}
    for epoch, those in by_epoch.items():
        writer = cluster.history.open_events(APP, epoch)
        writer.append(b"".join(encode(one) for one in those))
        writer.close()
        for one in those:
            status.apply(one)
    last = records[-1].time_ms
    ended = Result(status="SUCCEEDED", exit_code=0, reason="the program ended", finished_ms=last)
    cluster.history.finish(APP, ended, status.document())
    cluster.made_rm.reports[APP] = report(
        "FINISHED", "SUCCEEDED", id=APP, started_ms=records[0].time_ms, finished_ms=last
    )
    application = Application(APP, cluster, pause=lambda _: None)
    told_at_the_end = sections(application.page())

    live = follower(tmp_path, negotiator)
    for epoch, those in by_epoch.items():
        for at in range(0, len(those), 50):
            write(tmp_path, those[at : at + 50], epoch)
            live.now()
    negotiator.document = application.status()
    seen_last = sections(live.now().whole)
    assert list(seen_last) == list(told_at_the_end)
    assert len(seen_last) == 10
    for name, seen in seen_last.items():
        assert seen == told_at_the_end[name], name
