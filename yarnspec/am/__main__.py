"""The negotiator's process, which Skein's ``master.script`` starts in the AM container."""

from __future__ import annotations

import logging
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import msgspec
import structlog
import tenacity

from yarnspec.am.attempt.am_container import AmContainer
from yarnspec.am.attempt.core_settings import settings_of
from yarnspec.am.attempt.earlier import Earlier
from yarnspec.am.attempt.epoch_numbers import attempt_of, epoch_of, epochs_of
from yarnspec.am.attempt.history import ApplicationHistory
from yarnspec.am.attempt.rest_endpoint import RestEndpoint
from yarnspec.am.driver.epochs import DriverEpochs
from yarnspec.am.end.attempt_endings import (
    CRASHED,
    ended_before,
    ending_of,
    for_good,
    killed,
    taken_away,
    unless_replaced,
    why_ended,
)
from yarnspec.am.end.ending import finish_again, finish_application
from yarnspec.am.end.sigterm import end_on_sigterm
from yarnspec.am.executors.executor_containers import ExecutorContainers
from yarnspec.am.executors.placement_file import PlacementFile
from yarnspec.am.loop.answers import Answers
from yarnspec.am.loop.shell import Shell
from yarnspec.am.page.application_page import ApplicationPage
from yarnspec.am.page.routes import TRACKED
from yarnspec.am.sources.allocations import Allocations
from yarnspec.am.sources.cluster_watch import ClusterWatch
from yarnspec.am.sources.event_sources import ProgramReports, ProviderEvents
from yarnspec.am.sources.nodemanager_check import NodeManagerCheck
from yarnspec.am.sources.refusals import EarlierRefusals
from yarnspec.am.sources.sharedblocks import SharedBlocks
from yarnspec.core.messages import events
from yarnspec.core.messages.commands import FinishApplication
from yarnspec.core.negotiator import Negotiator
from yarnspec.observe.http.page_order import PageOrder
from yarnspec.observe.http.rest import Endpoint
from yarnspec.observe.http.server import RestServer
from yarnspec.observe.log.attempt_log import EventLogs
from yarnspec.observe.status.status_fold import About, StatusFold
from yarnspec.options import different_options
from yarnspec.plan import PLAN_FILE, PROGRAM_REPORT_FILE, RM_EVENTS_FILE, SPARK_PROPERTIES_FILE, Plan
from yarnspec.spark.executor import container_environment
from yarnspec.spark.properties import history_page, read_shipped
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf
from yarnspec.yarn.rm.constraint import constraint_of, own_tags
from yarnspec.yarn.rm.resource_manager import ResourceManager
from yarnspec.yarn.rm.rm_reports import AttemptReport
from yarnspec.yarn.skein.am_client import SkeinContainers

_log = structlog.get_logger()

_SHARED_LIST_S = 5.0
_PERSISTENTLY = tenacity.Retrying(stop=tenacity.stop_after_delay(30), wait=tenacity.wait_fixed(2), reraise=True)
"""For questions that need an answer. Without one in that time the attempt is given up."""


def earlier_attempts(
    attempt: int, attempts: Callable[[], Iterable[AttemptReport]], diagnostics: Callable[[str], str]
) -> tuple[AttemptReport, ...]:
    """The attempts before this one, first to last, with what YARN says of their ends; none when it does not tell."""
    if attempt == 1:
        return ()
    before: list[AttemptReport] = []
    try:
        before = sorted((one for one in attempts() if one.number < attempt), key=lambda one: one.number)
        # The newest matter most, and of the others nothing is asked when it does not answer: the driver waits.
        for at, one in reversed(list(enumerate(before))):
            before[at] = msgspec.structs.replace(one, diagnostics=one.diagnostics or diagnostics(one.id))
    except Exception:
        _log.exception("how the attempts before this one ended is not known")
    return tuple(before)


def negotiate(place: AmContainer) -> int:
    """Run one attempt of an application; returns the process's exit code, which Skein reads."""
    plan = msgspec.json.decode((place.directory / PLAN_FILE).read_bytes(), type=Plan)
    os.environ["HADOOP_CONF_DIR"] = str(place.unpack_hadoop_configuration())
    os.environ.pop("YARN_CONF_DIR", None)
    conf = HadoopConf.read()
    history = ApplicationHistory(conf, plan, place)
    ended = _PERSISTENTLY(history.ended_before, partial(epoch_of, plan)) if place.attempt > 1 else None
    if ended is not None:
        _log.warning("an earlier attempt had ended the application", status=ended.status, reason=ended.reason)
        placement = _placement(plan, place)
        return 0 if finish_again(ended, placement=placement, master=SkeinContainers.from_current()) else CRASHED
    return _run(plan, place, conf, history)


def _run(  # noqa: PLR0915 - one thing after the other
    plan: Plan, place: AmContainer, conf: HadoopConf, history: ApplicationHistory
) -> int:
    epoch = epoch_of(plan, place.attempt)
    rm = ResourceManager.from_conf(conf)
    before = earlier_attempts(place.attempt, lambda: rm.attempts(place.application_id), rm.diagnostics)
    earlier = history.earlier(epoch)
    log = EventLogs(epoch, history.open_events, history.copied_events)
    master = SkeinContainers.from_current()
    containers = ExecutorContainers(master)
    # Connected: from here on nothing in this container needs the key pair, and the program must not find it.
    place.remove_credentials()
    placement = _placement(plan, place)
    page = ApplicationPage(place.log_directory / "page.log", master, wanted=plan.options.am.page)
    if page.is_shown:
        placement.track(TRACKED)
    else:
        plan = _without_page(plan)
    driver = DriverEpochs(plan, place, history, containers)
    settings = settings_of(plan, earlier, epoch, spared=epochs_of(plan, killed(before)))
    nodemanagers = NodeManagerCheck()
    shell = Shell(
        negotiator=Negotiator(settings),
        log=log,
        fold=StatusFold(place.application_id),
        containers=containers,
        placement=placement,
        driver=driver,
        executor_environment=lambda executor_id, profile: container_environment(
            executor_id, driver.address, driver.gate, driver.epoch, profile
        ),
        check_hosts=nodemanagers.doubt,
        show_spark=page.show_spark,
    )
    driver.listener = shell
    end_on_sigterm(lambda: driver.stop(grace_s=0.2), log.close)

    shared = SharedBlocks.of(conf, plan.options, shell.post)
    _begin(shell, plan, place, epoch, settings.placement_in_effect, shared=shared, earlier=earlier, before=before)
    driver.begin(epoch, ended_before(before, place.attempt))
    watch = ClusterWatch(
        rm, place.application_id, shell.post, lambda: containers.waiting,
        constraint=constraint_of(plan.options.placement), nodemanagers=nodemanagers,
    )  # fmt: skip
    allocations = Allocations(containers, shell.post)
    provider = ProviderEvents(
        place.directory / RM_EVENTS_FILE, allocations, shell.post, watch.look_soon, watch.count_cores
    )
    # Before the first look at the hosts: the answer to the registration says whether the scheduler counts cores.
    provider.catch_up()
    reports = ProgramReports(place.directory / PROGRAM_REPORT_FILE, shell.post)
    watchers = [each.watcher for each in (watch, provider, allocations, reports)]
    if place.attempt > 1 and plan.options.recovery.enabled:
        watchers.append(EarlierRefusals(partial(history.refused, before_epoch=epoch), shell.post).watcher)
    for watcher in watchers:
        watcher.start()
    watchers.append(shared.watcher)

    about = About(
        name=plan.name, user=plan.user, queue=plan.queue,
        resource_manager_url=rm.application_url(place.application_id), page=page.is_shown,
    )  # fmt: skip
    answers = Answers(
        shell=shell,
        log=log,
        document=lambda: shell.document(about, [log.warning] if log.warning else []),
        hosts=lambda: watch.hosts,
        streams=driver.streams,
        attempt=place.attempt,
        reader_expected=plan.streams,
    )
    token = secrets.token_urlsafe(32)
    server = RestServer(answers, token, place.host)
    rest_endpoint = RestEndpoint(
        server,
        lambda url: history.announce(Endpoint(url=url, token=token, epoch=epoch, attempt=place.attempt)),
    )
    rest_endpoint.open()
    order = PageOrder(
        application_id=place.application_id, prefix="", directory=str(place.directory), first_epoch=epoch,
        history_directory=plan.history_directory, url=server.url, token=token,
        options=different_options(msgspec.to_builtins(plan.options)),
    )  # fmt: skip
    page.serve(order)

    ending = unless_replaced(
        for_good(ending_of(shell), plan, place.attempt - len(taken_away(before))),
        place.attempt,
        # A later attempt begins its journal before it says where it listens.
        (history.announced_attempt, lambda: attempt_of(plan, history.newest_epoch())),
    )
    _log.info("ending", command=type(ending).__name__, reason=ending.reason)
    driver.stop()
    driver.begin_close()
    rest_endpoint.close()
    code = CRASHED
    if isinstance(ending, FinishApplication):
        told = finish_application(
            ending,
            answers=answers,
            log=log,
            placement=placement,
            master=master,
            history=history,
            document=answers.status,
            write_report=(lambda last: page.write_report(msgspec.structs.replace(order, last=last)))
            if plan.options.history.report
            else None,
        )
        code = 0 if told else CRASHED
    else:
        log.close(10.0)
    driver.close()
    for watcher in watchers:
        watcher.stop()
    page.stop()
    server.stop()
    return code


def _placement(plan: Plan, place: AmContainer) -> PlacementFile:
    options = plan.options.placement
    placement = PlacementFile(
        place.directory,
        plan.placement_mode,
        plan.host_attribute,
        constraint=constraint_of(options),
        tags=own_tags(options),
    )
    shipped = read_shipped(place.directory / SPARK_PROPERTIES_FILE)
    placement.link_afterwards = history_page(shipped, place.application_id)
    return placement


def _without_page(plan: Plan) -> Plan:
    am = msgspec.structs.replace(plan.options.am, page=False)
    return msgspec.structs.replace(plan, options=msgspec.structs.replace(plan.options, am=am))


def _begin(
    shell: Shell,
    plan: Plan,
    place: AmContainer,
    epoch: int,
    placement: events.PlacementInEffect,
    *,
    shared: SharedBlocks,
    earlier: Earlier,
    before: tuple[AttemptReport, ...],
) -> None:
    """Tell the core that the attempt starts, after everything that keeps containers off hosts from the start on."""
    shared.watcher.start()
    shared.wait_for_first_look(_SHARED_LIST_S)
    for told in (*earlier.refused, *earlier.wishes, *earlier.scale):
        shell.post(told)
    if earlier.problem:
        said = f"some blocks that users made or ended in earlier attempts are not known: {earlier.problem}"
        shell.post(events.ProblemNoticed(message=said))
    shell.post(
        events.AttemptStarted(
            application_id=place.application_id,
            attempt=place.attempt,
            epoch=epoch,
            container_id=place.container_id,
            host=place.host,
            placement_mode=plan.placement_mode,
            placement_constraint=plan.options.placement.constraint,
            placement=placement,
            attempt_before=why_ended(before[-1]) if before else "",
        )
    )


def main() -> None:
    """Entry point."""
    place = AmContainer.from_environment(os.environ, Path.cwd())
    _log_to(place.log_directory / "negotiator.log")
    try:
        code = negotiate(place)
    except Exception:
        _log.exception("the negotiator failed")
        code = CRASHED
    sys.stdout.flush()
    # Threads of gRPC and of the REST server must not hold up the end of the process.
    os._exit(code)


def _log_to(path: Path) -> None:
    stream = path.open("a", encoding="utf-8", buffering=1)
    logging.basicConfig(stream=stream, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    # The end of the driver's bridge is told in one line of ours; py4j writes a traceback for each thread.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
        ],
        logger_factory=structlog.WriteLoggerFactory(stream),
    )
    _log.info("the negotiator begins", pid=os.getpid(), at=time.time())


if __name__ == "__main__":
    main()
