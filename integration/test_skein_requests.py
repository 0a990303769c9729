"""Skein 0.8.2 loses container requests that meet outstanding ones; our provider in its JVM cures that."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from integration.cluster import Cluster
from integration.submitting import PROGRAMS
from integration.waiting import wait_for
from yarnspec.jvm import jar_path
from yarnspec.plan import HADOOP_CONF_JAR_FILE, JAR_FILE
from yarnspec.yarn.files.cluster_files import open_files
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf, write_conf_jar
from yarnspec.yarn.skein.skein_application import LocalizedFile, SkeinApplication, SkeinContainer
from yarnspec.yarn.skein.skein_submission import SubmissionHook, submit

COUNT = 60
SCRIPT = "many_containers.py"


@pytest.mark.one_a_day("features of YARN")
def test_none_of_sixty_requests_is_lost(cluster: Cluster, tmp_path: Path) -> None:
    conf = HadoopConf.read(cluster.environment)
    conf_jar = write_conf_jar(conf, tmp_path / HADOOP_CONF_JAR_FILE, conf.placement_overrides())
    application = SkeinApplication(
        name="sixty-requests",
        queue="default",
        max_attempts=1,
        master=SkeinContainer(
            memory_mb=512,
            vcores=1,
            script=f"exec {shlex.quote(sys.executable)} {SCRIPT} {COUNT}",
            files={
                JAR_FILE: LocalizedFile(str(jar_path())),
                HADOOP_CONF_JAR_FILE: LocalizedFile(str(conf_jar)),
                SCRIPT: LocalizedFile(str(PROGRAMS / SCRIPT)),
            },
        ),
        # More than fit at once: requests stay outstanding for a while, and places come free.
        executor=SkeinContainer(memory_mb=128, vcores=1, script="exec sleep 2"),
    )
    submitted = submit(
        application,
        conf,
        hook=SubmissionHook(),
        jar=jar_path(),
        home=open_files(conf).home,
        environ=cluster.environment,
    )

    def ended() -> dict[str, Any] | None:
        found = cluster.application(submitted.application_id)
        return None if found.get("finalStatus") == "UNDEFINED" else found

    report = wait_for("the application's end", ended, 180)
    assert report["finalStatus"] == "SUCCEEDED", report["diagnostics"]
    started = [name for name in cluster.launched(submitted.application_id) if not name.endswith("_01_000001")]
    assert len(started) >= COUNT
