"""The page of a running application: through YARN's proxy, beside a slow host, over the death of its driver."""

from __future__ import annotations

import contextlib
import html
import http.client
import json
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import jsonschema
import pytest

from integration import browser
from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.sections import differences
from integration.slowhosts import SLOWER, SPREAD, write_sizes
from integration.submitting import ONE_EXECUTOR, WITH_UI
from integration.waiting import wait_for

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.usefixtures("fast_hosts")

STRANGER = "dr.who"
"""YARN's proxy calls those by this name who do not say who they are."""
GUARDED = ("--conf", "spark.acls.enable=true")


def fetched(url: str) -> str:
    """What YARN's proxy answers; empty while it does not."""
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:  # noqa: S310 - the mini cluster's
            assert answer.status == 200
            return str(answer.read().decode())
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return ""


def test_the_page_of_a_running_application(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """The block and the copies appear without a reload; driver and master die, and the page comes back; the report."""
    write_sizes(tmp_path, [40] * 8)
    options = [
        *SPREAD,
        *WITH_UI,
        "--num-executors",
        "2",
        "--executor-cores",
        "2",
        "--set",
        "speculation.slot_patience=500ms",
        "--set",
        "history.report=true",
        *GUARDED,
        "--conf",
        f"spark.ui.view.acls={STRANGER}",
        "--conf",
        "spark.yarn.historyServer.address=history.example:18080",
    ]
    submission = submit("waits.py", str(tmp_path), options=options)
    application = submission.application_id()
    url = f"{cluster.mini.rm_url}/proxy/{application}/"
    wait_for("rounds on two hosts", lambda: len(submission.last_hosts) == 2, 90)
    text = wait_for("the page", lambda: page if "Timeline by host" in (page := fetched(url)) else "", 30)
    assert submission.name in text
    part = fetched(f"{url}yarnspec/body?after=0")
    assert part.startswith("<!--page-->")
    spark = fetched(f"{url}spark/jobs/")
    assert f"/proxy/{application}/spark/stages/" in spark
    status = yarnspec("status", application, "-o", "json").expect(0).document
    assert status["links"]["page"] == url
    assert status["links"]["spark_ui"] == f"{url}spark/jobs/"
    only_through_yarn(cluster, application)
    no_secret(cluster, application, text)
    am_host = cluster.attempts(application)[0]["nodeId"].partition(":")[0]
    assert nobody_listens(am_host, spark_port(yarnspec, application))
    slow = next(host for host in submission.last_hosts if host != am_host)
    cluster.mini.host_slow(slow, SLOWER)
    write_sizes(tmp_path, [60] * 12)
    with open_page(url) as seen:
        seen.beside_a_slow_host(slow)
        wait_for("the block on the page", lambda: re.search(rf"<b>{slow}</b>[^\n]*blocked", fetched(url)), 90)
        wait_for("a stage that blames it", lambda: re.search(rf"slow host: [^<]*\b{slow}\b", fetched(url)), 60)
        cluster.mini.host_slow(slow, 1)
        write_sizes(tmp_path, [500] * 8)
        wait_for("attempts that run for long", lambda: running_for_long(fetched(url)), 90)
        as_spark_tells(url, application)
        over_two_deaths(cluster, application, url, seen)
    write_sizes(tmp_path, [40] * 8)
    (tmp_path / "stop").touch()
    wait_for("the last round", lambda: '"wrong"' in submission.stdout, 120)
    # All ends are on the page when nothing runs on it any more.
    page = wait_for("a page on which nothing runs", lambda: standing_still(fetched(url)), 60)
    last = ended_attempts(page)
    (tmp_path / "end").touch()
    written = f"/{application}/report.html"
    assert re.search(rf"^yarnspec: its report: \S+{written}$", submission.wait(180).expect(0).stderr, re.MULTILINE)
    assert where_yarn_leads(cluster, application).startswith(f"http://history.example:18080/history/{application}")
    the_report(yarnspec, application, tmp_path)
    report = (tmp_path / "report.html").read_text()
    assert last <= ended_attempts(report)
    assert differences(page, report) == []


def test_whom_the_acls_do_not_name_is_refused(submit: Submit, cluster: Cluster) -> None:
    submission = submit("idle.py", options=[*ONE_EXECUTOR, *WITH_UI, *GUARDED])
    url = f"{cluster.mini.rm_url}/proxy/{submission.application_id()}/"

    def refused(url: str) -> str:
        try:
            with urllib.request.urlopen(url, timeout=20) as answer:  # noqa: S310 - the mini cluster's
                text = answer.read().decode()
                assert "Timeline by host" not in text
                assert "Spark Jobs" not in text
        except urllib.error.HTTPError as error:
            return error.read().decode() if error.code in (401, 403) else ""
        return ""

    for page in ("", "yarnspec/body?after=0", "spark/jobs/"):
        said = wait_for(f"a refusal of {page or 'the page'}", lambda: refused(f"{url}{page}"), 60)  # noqa: B023
        assert "Timeline by host" not in said


def test_a_browser_looked_at_the_page() -> None:
    if why := browser.why_none():
        pytest.skip(f"what only a browser shows is left out: {why}")


class OpenPage:
    """One page that stays open; without a browser nobody looks."""

    def __init__(self, page: Page | None, said: list[str]) -> None:
        self._page = page
        self._said = said

    def beside_a_slow_host(self, slow: str) -> None:
        """The block and a copy appear."""
        page = self._page
        if page is None:
            return
        page.screenshot(path=browser.shot("live-1-begin"), full_page=True)
        page.locator(f".band:has(b:text-is('{slow}')) .badge:has-text('blocked')").first.wait_for(timeout=120_000)
        page.locator("#copies tbody tr").first.wait_for(timeout=60_000)
        page.screenshot(path=browser.shot("live-2-blocked"), full_page=True)
        assert not self._said
        assert not browser.faults(page)

    def comes_to(self, moment: str) -> None:
        """It tells of a moment, and does not say that nobody answers."""
        page = self._page
        if page is None:
            return
        # An answer that hangs is given up after 30 s.
        page.locator(f"#timeline .moments li:has-text('{moment}')").first.wait_for(timeout=120_000)
        page.locator("#connection").wait_for(state="hidden", timeout=60_000)

    def check_that_nobody_loaded_it_again(self) -> None:
        """It is the page that was opened first, and its script said nothing but that requests failed."""
        page = self._page
        if page is None:
            return
        page.screenshot(path=browser.shot("live-3-next-attempt"), full_page=True)
        assert page.evaluate("window.openedOnce") is True
        assert [one for one in self._said if not one.startswith("Failed to load resource")] == []


@contextlib.contextmanager
def open_page(url: str) -> Iterator[OpenPage]:
    """The page in a browser, if there is one."""
    if browser.why_none():
        yield OpenPage(None, [])
        return
    with browser.browser_page(url) as (page, said, _):
        page.evaluate("window.openedOnce = true")
        yield OpenPage(page, said)


def over_two_deaths(cluster: Cluster, application: str, url: str, seen: OpenPage) -> None:
    """The driver dies, then the application master: the page tells both, with the attempts that were lost."""
    next(one for one in cluster.processes(application) if one.what == "driver-jvm").kill()
    wait_for("the death on the page", lambda: "the driver died" in fetched(url), 60)
    wait_for("the lost attempts on the page", lambda: lost_attempts(fetched(url)), 60)
    wait_for("the next driver on the page", lambda: "driver epoch" in fetched(url), 60)
    seen.comes_to("the driver died")
    seen.comes_to("driver epoch ")
    spark = wait_for("the next driver's pages", lambda: fetched(f"{url}spark/jobs/"), 60)
    assert f"/proxy/{application}/spark/stages/" in spark
    lost = lost_attempts(fetched(url))
    wait_for("attempts of the next driver", lambda: running_for_long(fetched(url)), 90)
    next(one for one in cluster.processes(application) if one.what == "skein-am").kill()
    wait_for("the next attempt's page", lambda: "application attempt 2 begins" in fetched(url), 90)
    wait_for("its lost attempts on the page", lambda: len(lost_attempts(fetched(url))) > len(lost), 60)
    assert "No record of" not in fetched(url)
    seen.comes_to("application attempt 2 begins")
    seen.check_that_nobody_loaded_it_again()


def running_for_long(page: str) -> bool:
    """Whether attempts run that are no short ones: they have run for a second."""
    return bool(re.search(r": runs, [1-9][\d.]* s</title>", page))


def lost_attempts(page: str) -> set[str]:
    """The attempts that ran when their driver died, as the timeline tells of them."""
    return set(re.findall(r"<title>(task [^<]*: lost with the driver, [^<]*)</title>", page))


def standing_still(page: str) -> str:
    """The page if nothing runs on it, and every container that was allocated has started."""
    to_come = '<g class="running">' in page or "<td>-</td><td>lives</td>" in page
    return page if "Timeline by host" in page and not to_come else ""


def the_report(yarnspec: Yarnspec, application: str, directory: Path) -> None:
    """The file holds what status says, opens from the disk, and asks nobody."""
    file = directory / "report.html"
    yarnspec("report", application, "-o", str(file)).expect(0)
    text = file.read_text()
    assert len(text.encode()) < 1_500_000
    status = yarnspec("status", application, "-o", "json").expect(0).document
    shown = re.search(r'<pre id="status-json" tabindex="0">(.*?)</pre>', text, re.DOTALL)
    assert shown is not None
    assert json.loads(html.unescape(shown[1])) == status
    as_the_schemas_say(yarnspec, application, status)
    if not browser.why_none():
        with browser.browser_page(file.as_uri()) as (page, said, asked):
            page.screenshot(path=browser.shot("report"), full_page=True)
            assert (said, asked) == ([], [])
            assert not browser.faults(page)


def as_the_schemas_say(yarnspec: Yarnspec, application: str, status: dict[str, Any]) -> None:
    """`status` and `events` print what `schema` says of them."""
    jsonschema.validate(status, yarnspec("schema", "status").expect(0).document)
    check = jsonschema.Draft202012Validator(yarnspec("schema", "events").expect(0).document)
    of_each_type = {one["type"]: one for one in yarnspec("events", application, "-o", "json").expect(0).lines}
    assert [one for one in of_each_type.values() if not check.is_valid(one)] == []


def ended_attempts(page: str) -> set[tuple[str, str]]:
    """Who ran which task attempt that ended well, and for how many seconds, as the timeline tells."""
    found = set()
    for band in page.partition('id="timeline"')[2].partition("</section>")[0].split('<div class="band')[2:]:
        host = band.partition("<b>")[2].partition("</b>")[0]
        ended = re.findall(r"<title>(task \S+, (?:attempt|copy) \d+, executor \S+): finished, ([\d.]+) s</title>", band)
        found |= {(f"{host}: {attempt}", seconds) for attempt, seconds in ended}
    return found


def as_spark_tells(url: str, application: str) -> None:
    """Spark's own REST, one link further, knows the same tasks, hosts and times of all stages so far."""
    told = ended_in_spark(url, application)
    assert len({attempt.partition(": ")[2].partition(".")[0] for attempt in told}) > 1
    ours = wait_for(
        "what Spark tells on the page",
        lambda: found if (found := dict(ended_attempts(fetched(url)))).keys() >= told.keys() else {},
        30,
    )
    later = wait_for(
        "what the page tells from Spark",
        lambda: found if (found := ended_in_spark(url, application)).keys() >= ours.keys() else {},
        30,
    )
    # Below ten seconds the page has tenths.
    unlike = {one: (seconds, later[one]) for one, seconds in ours.items()
              if abs(1000 * float(seconds) - later[one]) > (51 if later[one] < 9_900 else 501)}  # fmt: skip
    assert unlike == {}


def ended_in_spark(url: str, application: str) -> dict[str, int]:
    """For how many milliseconds each task attempt that ended well ran, of all stages of this driver."""
    rest = f"{url}spark/api/v1/applications/{application}/stages"

    def asked(path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(wait_for("Spark's answer", lambda: fetched(f"{rest}{path}"), 30))
        return found

    return {
        f"{one['host']}: task {stage['stageId']}.{one['index']}, {'copy' if one['speculative'] else 'attempt'} "
        f"{one['attempt']}, executor {one['executorId']}": one["duration"]
        for stage in asked("")
        if stage["numCompleteTasks"]
        for one in asked(f"/{stage['stageId']}/{stage['attemptId']}/taskList?length=1000")
        if one["status"] == "SUCCESS"
    }


def spark_port(yarnspec: Yarnspec, application: str) -> int:
    """Where the driver serves Spark's pages."""
    told = yarnspec("events", application, "--type", "DriverReady", "-o", "json").expect(0).lines
    return urlsplit(told[-1]["ui_url"]).port or 0


def nobody_listens(host: str, port: int) -> bool:
    """Whether nobody listens there."""
    try:
        socket.create_connection((host, port), timeout=10).close()
    except ConnectionRefusedError:
        return True
    return False


def only_through_yarn(cluster: Cluster, application: str) -> None:
    """Who is not the ResourceManager is sent to its proxy; what draws the page listens on loopback."""
    log = "\n".join(
        text for path, text in cluster.container_log_texts(application).items() if path.name == "application.master.log"
    )
    found = re.search(r"WebUI server started at (\S+):(\d+)", log)
    assert found is not None, log
    connection = http.client.HTTPConnection(found[1], int(found[2]), timeout=10, source_address=("127.0.0.77", 0))
    with contextlib.closing(connection):
        connection.request("GET", "/pages/")
        answer = connection.getresponse()
        assert answer.status in (302, 303, 307)
        assert urlsplit(answer.getheader("Location") or "").path == f"/proxy/redirect/{application}/pages/"


def where_yarn_leads(cluster: Cluster, application: str) -> str:
    """The address behind YARN's link when the application has ended."""
    rm = urlsplit(cluster.mini.rm_url)
    connection = http.client.HTTPConnection(rm.hostname or "", rm.port, timeout=10)
    with contextlib.closing(connection):
        connection.request("GET", f"/proxy/{application}/")
        return connection.getresponse().getheader("Location") or ""


def no_secret(cluster: Cluster, application: str, page: str) -> None:
    """The page holds neither the REST's token nor where it listens."""
    endpoint = json.loads(cluster.hdfs_read(f"/user/{cluster.user}/.skein/{application}/yarnspec-endpoint.json"))
    assert endpoint["token"] not in page
    assert urlsplit(endpoint["url"]).netloc not in page
