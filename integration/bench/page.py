"""`python -m integration.bench page`: what open pages cost the negotiator, and how long a large page takes to draw.

A thousand tasks run on four hosts. By turns nobody looks at the page for a while, and ten readers do, every two seconds
as a browser does, through YARN's proxy. The processor time is read from ``/proc``. Then the same again while a host is
blocked and unblocked again and again: so it is seen how long the negotiator takes to decide that. At last a page of a
hundred thousand tasks is drawn, of made-up records that were folded before.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from rich.console import Console

from integration.bench.sides import RunFailedError
from integration.cluster import Cluster
from integration.submitting import PROGRAMS, SMALL, Submission, base_environment, run_yarnspec, start_submit
from integration.waiting import wait_for
from tests.observe.page.records_to_draw import folded, many
from yarnspec.gateway.application.handle import Application
from yarnspec.gateway.cluster.access import Cluster as Gateway
from yarnspec.minicluster import MiniCluster
from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.page.page import page
from yarnspec.observe.page.page_fold import PageFold
from yarnspec.options import default_options
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf

TASKS, HOSTS, READERS = 1000, 4, 10
SLOTS = TASKS // HOSTS
EVERY_S = 2.0
LOOK_S = 30.0
PAUSE_S = 0.2
REPEATS = 3
AIM_SHARE = 0.03
DRAWN_TASKS = 100_000
AIM_DRAWN_S = 1.0
AIM_BYTES = 1_500_000


def run(console: Console, repeats: int = REPEATS) -> bool:
    """Measure; whether the aims are met."""
    workspace = Path(tempfile.mkdtemp(prefix="yarnspec-bench-"))
    properties = {"yarn.scheduler.maximum-allocation-vcores": str(2 * SLOTS)}
    try:
        with MiniCluster(workspace / "cluster", nodes=HOSTS, vcores=2 * SLOTS, properties=properties) as mini:
            share = _share(console, Cluster(mini, base_environment()), workspace, repeats)
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
    folds = folded(many(DRAWN_TASKS))
    seconds = statistics.median(_drawn_s(folds) for _ in range(repeats))
    size = len(page(*folds, folds[0].last_ms).encode())
    console.print(
        f"a page of {DRAWN_TASKS:,} tasks: {seconds:.2f} s (aim: {AIM_DRAWN_S:.0f} s), {size / 1e6:.2f} MB "
        f"(aim: {AIM_BYTES / 1e6:.1f} MB)"
    )
    return share < AIM_SHARE and seconds < AIM_DRAWN_S and size <= AIM_BYTES


def _share(console: Console, cluster: Cluster, workspace: Path, repeats: int) -> float:
    """Which part of a core the negotiator takes with readers, as the median of the repeats."""
    arguments = [str(TASKS), str(round(60 + repeats * 4 * LOOK_S + 60))]
    executors = ["--num-executors", str(HOSTS), "--executor-cores", str(SLOTS)]
    program = str(PROGRAMS / "sleeps.py")
    submission = start_submit(cluster, "bench-page", [*SMALL, *executors, program, *arguments], workspace)
    try:
        application = submission.application_id()
        wait_for(f"{TASKS} running tasks", lambda: _running(cluster, application) == TASKS, 180)
        url = f"{cluster.mini.rm_url}/proxy/{application}/yarnspec/body?after="
        _fetched(url)  # the process that draws starts at the first look
        shares: dict[int, list[float]] = {0: [], READERS: []}
        waited: dict[int, list[float]] = {0: [], READERS: []}
        for number in range(repeats):
            for readers, taken in shares.items():
                busy = _busy(cluster, application, url, readers, None)
                taken.append(busy["negotiator"])
                console.print(
                    f"{number + 1}/{repeats}: {readers} readers: {100 * busy['negotiator']:.1f} % of a core in the "
                    f"negotiator, {100 * busy['page']:.1f} % in the process that draws"
                )
                _busy(cluster, application, url, readers, waited[readers])
        for readers, taken in shares.items():
            console.print(
                f"{readers} readers, {TASKS:,} running tasks: the negotiator takes "
                f"{100 * statistics.median(taken):.1f} % of a core [{100 * min(taken):.1f}, {100 * max(taken):.1f}] "
                f"(aim: {100 * AIM_SHARE:.0f} %)"
            )
        for readers, times in waited.items():
            median, p99 = statistics.median(times), statistics.quantiles(times, n=100)[-1]
            console.print(
                f"{readers} readers: a block is decided and answered in {median * 1000:.1f} ms, "
                f"p99 {p99 * 1000:.1f} ms ({len(times)} decisions)"
            )
        return statistics.median(shares[READERS])
    finally:
        _end(cluster, submission)


def _end(cluster: Cluster, submission: Submission) -> None:
    application = submission.application_id()
    submission.stop()
    run_yarnspec(cluster, "kill", application)


def _running(cluster: Cluster, application: str) -> int:
    status = run_yarnspec(cluster, "status", application, "-o", "json").expect(0).document
    return int(status["tasks"]["running"])


def _busy(cluster: Cluster, application: str, url: str, readers: int, waited: list[float] | None) -> dict[str, float]:
    """Which part of a core negotiator and page take while so many look.

    ``waited``: blocks a host again and again meanwhile, and adds how long each block waited.
    """
    stop = threading.Event()
    threads = [threading.Thread(target=_read, args=(url, stop), daemon=True) for _ in range(readers)]
    for thread in threads:
        thread.start()
    before, begun = _processor_s(cluster, application), time.monotonic()
    if waited is None:
        stop.wait(LOOK_S)
    else:
        waited += _blocks(cluster, application, begun + LOOK_S)
    after, took = _processor_s(cluster, application), time.monotonic() - begun
    stop.set()
    for thread in threads:
        thread.join()
    return {what: (after[what] - before.get(what, 0.0)) / took for what in after}


def _blocks(cluster: Cluster, application: str, until: float) -> list[float]:
    """Block a host and unblock it until then: how long each block took to be decided and answered, in seconds."""
    waited = []
    gateway = Gateway(HadoopConf.read(cluster.environment), default_options())
    with Application(application, gateway) as found:
        while time.monotonic() < until:
            begun = time.monotonic()
            found.block_host(cluster.hosts[-1], "1 min", reason="measured")
            waited.append(time.monotonic() - begun)
            found.unblock_host(cluster.hosts[-1])
            time.sleep(PAUSE_S)
    return waited


def _read(url: str, stop: threading.Event) -> None:
    """Look as the page's script does: with what it has seen last."""
    seen = ""
    while not stop.wait(EVERY_S):
        found = re.search(r'data-seq="([^"]*)"', _fetched(url + seen))
        seen = found[1] if found else seen


def _fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 - the mini cluster's
        return str(answer.read().decode())


def _processor_s(cluster: Cluster, application: str) -> dict[str, float]:
    """Processor time so far of the negotiator and of the process that draws."""
    found = {}
    for process in cluster.processes(application):
        what = "page" if "yarnspec.livepage" in process.command else process.what
        if what in ("negotiator", "page"):
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            found[what] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    if "negotiator" not in found:
        message = f"the negotiator of {application} does not run"
        raise RunFailedError(message)
    return found


def _drawn_s(folds: tuple[PageFold, StatusDocument]) -> float:
    begun = time.monotonic()
    page(*folds, folds[0].last_ms)
    return time.monotonic() - begun
