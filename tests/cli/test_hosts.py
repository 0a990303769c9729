"""hosts, of an application and of the cluster: what is printed where, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.gateway.cluster import APP, HOSTS, HandMadeCluster, HandMadeNegotiator
from yarnspec import options
from yarnspec.observe.http.rest import Answer, BlockBody, HostEntry
from yarnspec.yarn.files.cluster_blocks import ClusterBlocks


class TestHosts:
    def test_list(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        assert negotiator.asked == []
        ran = yarnspec("hosts", APP, "list")
        assert [line.split()[0] for line in ran.out.splitlines()[1:]] == list(HOSTS)
        assert len(json.loads(yarnspec("hosts", APP, "list", "-o", "json").out)["hosts"]) == len(HOSTS)

    def test_a_block_for_all_applications_is_told_from_ones_own(
        self, yarnspec: Run, negotiator: HandMadeNegotiator
    ) -> None:
        entry = HostEntry(host=HOSTS[0], state="RUNNING", blocked=True, reason="disk", level="cluster", by="ann")
        negotiator.hosts = lambda: [entry]  # type: ignore[method-assign]
        assert "until it is unblocked, for all applications  disk" in yarnspec("hosts", APP, "list").out
        entry = HostEntry(host=HOSTS[0], state="RUNNING", left_in_use="nothing blocks this host by itself")
        assert "nothing blocks this host by itself" in yarnspec("hosts", APP, "list").out

    def test_block_and_unblock(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        ran = yarnspec("hosts", APP, "block", HOSTS[1], "--for", "10m", "--reason", "slow disk", "--force")
        assert (ran.code, ran.out) == (0, f"{HOSTS[1]} is blocked for 10m\n")
        asked = negotiator.asked[0]
        assert isinstance(asked, BlockBody)
        assert (asked.duration_ms, asked.reason, asked.force) == (600_000, "slow disk", True)
        ran = yarnspec("hosts", APP, "unblock", HOSTS[1], "-o", "json")
        assert json.loads(ran.out) == {"schema": 1, "host": HOSTS[1], "blocked": False, "reason": ""}

    def test_an_unblock_of_a_host_that_the_clusters_list_blocks_too(
        self, yarnspec: Run, negotiator: HandMadeNegotiator
    ) -> None:
        words = "unblocked by me, but the cluster's list blocks it for all applications"
        negotiator.answer = Answer(accepted=True, reason=words, still_blocked=True)
        ran = yarnspec("hosts", APP, "unblock", HOSTS[1])
        assert (ran.code, ran.err) == (0, f"{words}\n")
        assert "is not blocked any more\n" not in ran.out
        assert "but still for all applications" in ran.out
        assert json.loads(yarnspec("hosts", APP, "unblock", HOSTS[1], "-o", "json").out)["blocked"] is True

    def test_the_answer_of_a_driver_that_has_not_heard_yet(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        words = "disk (blocked by me for 600 s); the driver has not confirmed it yet"
        negotiator.answer = Answer(accepted=True, reason=words)
        ran = yarnspec("hosts", APP, "block", HOSTS[1])
        assert (ran.code, ran.out, ran.err) == (0, f"{HOSTS[1]} is blocked until it is unblocked\n", f"{words}\n")
        ran = yarnspec("hosts", APP, "block", HOSTS[1], "-o", "json")
        assert (ran.code, json.loads(ran.out)["reason"], ran.err) == (0, words, "")

    def test_a_block_that_is_shorter_than_the_one_in_force(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        negotiator.answer = Answer(accepted=True, reason="nothing had to change", changed=False)
        ran = yarnspec("hosts", APP, "block", HOSTS[1], "--for", "10m")
        assert ran.code == 0
        assert "10m" not in ran.out
        assert "blocked for as long or longer already" in ran.out

    def test_a_refusal(self, yarnspec: Run, negotiator: HandMadeNegotiator) -> None:
        negotiator.answer = Answer(accepted=False, reason="1 of 3 hosts may be blocked; --force")
        ran = yarnspec("hosts", APP, "block", HOSTS[1])
        assert (ran.code, ran.out) == (4, "")
        assert "1 of 3 hosts may be blocked" in ran.err

    @pytest.mark.usefixtures("negotiator")
    def test_wrong_input(self, yarnspec: Run) -> None:
        assert yarnspec("hosts", APP, "block", "no-such-host").code == 5
        assert yarnspec("hosts", APP, "block", HOSTS[1], "--for", "ten").code == 2
        ran = yarnspec("hosts", APP, "blok", HOSTS[1])
        assert ran.code == 2
        assert "'block'" in ran.err


class TestClusterHosts:
    @pytest.fixture(autouse=True)
    def _on_files(self, cluster: HandMadeCluster, tmp_path: Path) -> None:
        self.user = cluster.files.info(str(tmp_path)).owner
        self.directory = tmp_path / "list"
        shared = ClusterBlocks(cluster.files, str(self.directory), self.user)
        cluster.__dict__["shared_blocks"] = lambda location: shared if location != "none" else None

    def test_the_help_of_a_command_needs_no_application(self, yarnspec: Run) -> None:
        ran = yarnspec("hosts", "block", "--help")
        assert ran.code == 0
        assert "Block HOST" in ran.out

    @pytest.mark.parametrize(
        ("line", "code", "words"),
        [
            ("hosts list", 2, "hosts APP list"),
            (f"hosts {APP} --cluster list", 2, "one or the other"),
            (f"hosts --cluster block {HOSTS[1]}", 2, "--reason"),
            (f"hosts --cluster block {HOSTS[1]} --reason r --force", 2, "APP only"),
            (f"hosts --cluster block {HOSTS[1]} --reason r --for ten", 2, "not a duration"),
            ("hosts --cluster block no-such-host --reason r", 5, "knows no host"),
            (f"hosts --cluster unblock {HOSTS[1]}", 5, "is not on the cluster's list"),
            ("hosts --cluster blok h", 2, "'block'"),
            ("hosts --cluster list --set blocklist.cluster_directory=none", 2, "there is no list"),
        ],
    )
    def test_wrong_input(self, yarnspec: Run, cluster: HandMadeCluster, line: str, code: int, words: str) -> None:
        if "none" in line:
            cluster.options = options.load(None, ["blocklist.cluster_directory=none"], {}).options
        ran = yarnspec(*line.split())
        assert (ran.code, ran.out) == (code, "")
        assert words in ran.err

    def test_help(self, yarnspec: Run) -> None:
        for line in (("hosts", "--help"), ("hosts", "--cluster", "--help"), ("hosts", "--cluster", "block", "--help")):
            ran = yarnspec(*line)
            assert ran.code == 0
            assert "--cluster" in ran.out
        ran = yarnspec("hosts")
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("Usage: yarnspec hosts [OPTIONS] APP|--cluster COMMAND")
