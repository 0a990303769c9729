"""The same from Python, `yarnspec.submit(...)` and `yarnspec.Application`; of two ResourceManagers one is dead."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import yarnspec as library
from integration.cluster import Cluster
from integration.submitting import PROGRAMS

WAIT_S = 90
NOBODY = "127.0.0.1:9"
ADDRESSES = ("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address")


@pytest.fixture
def highly_available(cluster: Cluster, tmp_path: Path) -> Path:
    """The cluster's configuration as it is with two ResourceManagers, of which `rm1` does not answer."""
    conf = tmp_path / "conf"
    shutil.copytree(cluster.mini.home.conf, conf)
    site = ET.parse(conf / "yarn-site.xml")  # noqa: S314 - the mini cluster has written it
    root = site.getroot()
    told = {each.findtext("name"): each.findtext("value") for each in root}
    added = {
        "yarn.resourcemanager.ha.enabled": "true",
        "yarn.resourcemanager.ha.rm-ids": "rm1,rm2",
        "yarn.resourcemanager.cluster-id": "mini",
    }
    for name in ADDRESSES:
        key = f"yarn.resourcemanager.{name}"
        real = told.get(key)
        assert real, f"the mini cluster has no {key}"
        added |= {f"{key}.rm1": NOBODY, f"{key}.rm2": real}
        next(each for each in root if each.findtext("name") == key).find("value").text = NOBODY  # type: ignore[union-attr]
    for name, value in added.items():
        one = ET.SubElement(root, "property")
        ET.SubElement(one, "name").text = name
        ET.SubElement(one, "value").text = value
    site.write(conf / "yarn-site.xml")
    return conf


@pytest.mark.one_a_day("whole programs")
def test_submit_wait_and_look_from_python(
    cluster: Cluster, highly_available: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An application is submitted, waited for, and found again by its id; all ask the ResourceManager that lives."""
    for name, value in {**cluster.environment, "HADOOP_CONF_DIR": str(highly_available)}.items():
        monkeypatch.setenv(name, value)
    excluded = cluster.hosts[0]
    with library.submit(
        str(PROGRAMS / "tasks.py"), "4", "0.1",
        num_executors=1, executor_memory="512m", driver_memory="512m", exclude_hosts=(excluded,),
    ) as application:  # fmt: skip
        assert application.wait(WAIT_S).state == "SUCCEEDED"
    with library.Application.from_id(application.id) as found:
        status = found.status()
        assert status.ended
        # That the exclusion arrives; what it does is in test_exclusion, with a control run.
        assert [(one.host, one.by) for one in status.blocked_hosts if one.host == excluded] == [
            (excluded, "yarnspec submit")
        ]
        assert {record.type for record in found.events()} >= {"BlockHost", "ContainerStarted", "DriverFinished"}
        output = b"".join(piece.data for piece in found.logs(name="driver.stdout")).decode()
    assert json.loads(output.splitlines()[-1])["sum"] == 6
