"""The cluster's list of blocked hosts, as `yarnspec hosts --cluster` shows and changes it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.gateway.cluster import HOSTS, HandMadeCluster
from yarnspec.yarn.files.cluster_blocks import ClusterBlocks


class TestClusterHosts:
    @pytest.fixture(autouse=True)
    def _on_files(self, cluster: HandMadeCluster, tmp_path: Path) -> None:
        self.user = cluster.files.info(str(tmp_path)).owner
        self.directory = tmp_path / "list"
        shared = ClusterBlocks(cluster.files, str(self.directory), self.user)
        cluster.__dict__["shared_blocks"] = lambda location: shared if location != "none" else None

    def test_block_list_and_unblock(self, yarnspec: Run) -> None:
        before_ms = int(time.time() * 1000)
        ran = yarnspec("hosts", "--cluster", "block", HOSTS[1], "--for", "2h", "--reason", "disk is being replaced")
        assert (ran.code, ran.out) == (0, f"{HOSTS[1]} is blocked for all applications for 2h\n")
        ran = yarnspec("hosts", "--cluster", "list")
        assert ran.out.splitlines()[1].split(maxsplit=1)[0] == HOSTS[1]
        assert "disk is being replaced" in ran.out
        document = json.loads(yarnspec("hosts", "--cluster", "list", "-o", "json").out)
        assert document["schema"] == 1
        (block,) = document["blocks"]
        assert (block["host"], block["by"]) == (HOSTS[1], self.user)
        assert before_ms <= block["until_ms"] - 7_200_000 <= time.time() * 1000
        ran = yarnspec("hosts", "--cluster", "unblock", HOSTS[1], "-o", "json")
        assert json.loads(ran.out) == {"schema": 1, "host": HOSTS[1], "blocked": False, "reason": ""}
        ran = yarnspec("hosts", "--cluster", "list")
        assert (ran.out, ran.err) == ("", "no host is blocked for all applications\n")

    def test_a_shorter_block_leaves_ones_own_as_it_is(self, yarnspec: Run) -> None:
        block = ("hosts", "--cluster", "block", HOSTS[1], "--reason")
        yarnspec(*block, "disk", "--for", "2h")
        ran = yarnspec(*block, "fan", "--for", "1h")
        words = f"{HOSTS[1]} was blocked for as long or longer already: nothing had to change\n"
        assert (ran.code, ran.out) == (0, words)
        assert "your entry stays as it is (disk; for 1 h 59 min more): to shorten it, unblock the host first" in ran.err
        assert json.loads(yarnspec(*block, "fan", "--for", "1h", "-o", "json").out)["reason"].startswith("your entry")
        (listed,) = json.loads(yarnspec("hosts", "--cluster", "list", "-o", "json").out)["blocks"]
        assert listed["reason"] == "disk"
        ran = yarnspec(*block, "fan", "--for", "3h")
        assert (ran.out, ran.err) == (f"{HOSTS[1]} is blocked for all applications for 3h\n", "")

    def test_what_is_not_believed_is_talk(self, yarnspec: Run) -> None:
        self.directory.mkdir()
        (self.directory / f"h@{self.user}.json").write_text("{")
        ran = yarnspec("hosts", "--cluster", "list")
        assert (ran.code, ran.out) == (0, "")
        assert "warning:" in ran.err
        assert "broken" in ran.err
