"""placement.json: the whole desired placement, always whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from yarnspec.am.executors.placement_file import Finish, PlacementFile
from yarnspec.core.messages.commands import UpdatePlacement, WantedContainer
from yarnspec.core.messages.events import HostReport
from yarnspec.plan import PLACEMENT_FILE
from yarnspec.yarn.rm.constraint import parse


def content(directory: Path) -> dict[str, Any]:
    assert [entry.name for entry in directory.iterdir()] == [PLACEMENT_FILE]
    return msgspec.json.decode((directory / PLACEMENT_FILE).read_bytes(), type=dict[str, Any])


UPDATE = UpdatePlacement(
    reason="a test",
    version=7,
    blocked_hosts=("127.0.0.3",),
    wanted=(WantedContainer(id="12", memory_mb=1408, vcores=1),),
)


def test_it_is_there_before_the_first_container_is_asked_for(tmp_path: Path) -> None:
    PlacementFile(tmp_path, "constraints", "nm.yarn.io/host")
    assert content(tmp_path) == {
        "version": 0,
        "mode": "constraints",
        "host_attribute": "nm.yarn.io/host",
        "constraint": "",
        "tags": [],
        "all_hosts": [],
        "blocked_hosts": [],
        "wanted": [],
        "tracking_url": None,
        "finish": None,
    }


def test_yarn_gets_the_users_constraint_as_it_was_read(tmp_path: Path) -> None:
    """YARN's parser takes spaces and capital letters for parts of names."""
    PlacementFile(tmp_path, "constraints", "nm.yarn.io/host", constraint=parse(" And(python != 3.9 : notin, node, x)"))
    assert content(tmp_path)["constraint"] == "and(rm.yarn.io/python!=3.9:notin,node,x)"


def test_an_update_replaces_what_was_there(tmp_path: Path) -> None:
    file = PlacementFile(tmp_path, "blacklist", "nm.yarn.io/host")
    file.update(UPDATE)
    found = content(tmp_path)
    assert (found["version"], found["blocked_hosts"]) == (7, ["127.0.0.3"])
    assert found["wanted"] == [
        {
            "id": "12",
            "memory_mb": 1408,
            "vcores": 1,
            "resources": {},
            "profile": 0,
            "label": "",
            "hosts": [],
            "not_hosts": [],
            "strict": False,
            "takes_late": False,
            "rule": "",
        }
    ]
    file.update(UpdatePlacement(reason="a test", version=8, blocked_hosts=(), wanted=()))
    found = content(tmp_path)
    assert (found["version"], found["blocked_hosts"], found["wanted"]) == (8, [], [])


def test_hosts_and_link_stay_through_updates(tmp_path: Path) -> None:
    file = PlacementFile(tmp_path, "blacklist", "a")
    file.know_hosts([HostReport(host="127.0.0.2", rack="/r", state="LOST")])
    file.track("http://host:4040")
    file.update(UPDATE)
    found = content(tmp_path)
    assert found["all_hosts"] == [{"host": "127.0.0.2", "rack": "/r"}]
    assert found["tracking_url"] == "http://host:4040"


def test_the_end_asks_for_nothing_more_and_keeps_the_blocks(tmp_path: Path) -> None:
    file = PlacementFile(tmp_path, "blacklist", "a")
    file.update(UPDATE)
    file.finish(Finish(status="FAILED", diagnostics="ValueError: no"))
    found = content(tmp_path)
    assert found["finish"] == {"status": "FAILED", "diagnostics": "ValueError: no"}
    file.link_afterwards = "http://history/"
    file.finish(Finish(status="FAILED", diagnostics=""))
    assert content(tmp_path)["finish"]["tracking_url"] == "http://history/"
    assert found["wanted"] == []
    assert found["blocked_hosts"] == ["127.0.0.3"]
