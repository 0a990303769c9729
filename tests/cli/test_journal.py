"""`yarnspec journal show` and `verify`: of an application and of a directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Run
from tests.gateway.cluster import APP, HandMadeCluster, report
from tests.journal.world import PATIENCE_S, begin, directory_in, finished, registered, story, write
from yarnspec.core.journal.journalrecords import Carried, JobCommitted, UnknownRecord
from yarnspec.journal.directory import JournalDirectory
from yarnspec.observe.log.history import ApplicationRecord
from yarnspec.yarn.files.local_files import LocalFiles

SECRET = b"the secret of a program"
EXIT_DAMAGED = 8


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Two epochs; the first one's writer was replaced and added a record afterwards."""
    directory = directory_in(tmp_path)
    zombie = begin(directory, 1)
    zombie.append(registered(1))
    zombie.append(finished(1, 1, blob=SECRET))
    zombie.append(Carried(kind="blocks", payload=SECRET))
    zombie.append(UnknownRecord(type=900, payload=b"\x80"))
    zombie.append_durable(JobCommitted(ordinal=0, plan="save to there", paths=("/a", "/b"))).result(PATIENCE_S)
    second = begin(directory, 2)
    assert zombie.append_durable(registered(2)).exception(PATIENCE_S) is not None
    second.append(finished(1, 2))
    assert second.close(PATIENCE_S)
    return tmp_path / "journal"


def test_show_prints_each_record_with_sizes_instead_of_bytes(journal: Path, yarnspec: Run) -> None:
    ran = yarnspec("journal", "show", str(journal))
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].split()[:3] == ["1.1", "EpochBegan", "of_epoch=1"]
    assert lines[1].split() == [
        "1.2", "ShuffleRegistered", "shuffle=1", "signature=s", "maps=100", "reduces=8", "determinism=determinate",
        "parents=0",
    ]  # fmt: skip
    assert "MapFinished" in lines[2]
    assert lines[2].endswith("host=host-1 of_epoch=1 size_bytes=1000 blob_bytes=23")
    assert "kind=blocks payload_bytes=23" in lines[3]
    assert "type 900" in lines[4]
    assert "plan='save to there' paths=/a,/b" in lines[5]
    assert "secret" not in ran.out
    # What was added after the second epoch had begun is not of this journal.
    assert lines[6].startswith("2.1 ")
    assert "2.14" not in ran.out


def test_show_filters_by_type_and_epoch(journal: Path, yarnspec: Run) -> None:
    ran = yarnspec("journal", "show", str(journal), "--type", "MapFinished", "--epoch", "2", "-o", "json")
    told = [json.loads(line) for line in ran.out.splitlines()]
    assert [(each["epoch"], each["type"], each["index"]) for each in told] == [
        (2, "MapFinished", 1),
        (2, "MapFinished", 2),
    ]
    assert told[0]["schema"] == 1
    assert told[0]["blob_bytes"] == len(SECRET)
    assert "blob" not in told[0]
    ran = yarnspec("journal", "show", str(journal), "--type", "JobCommitted", "--epoch", "1", "-o", "yaml")
    assert next(iter(yaml.safe_load_all(ran.out)))["paths"] == ["/a", "/b"]


def test_show_says_when_there_is_nothing(journal: Path, yarnspec: Run) -> None:
    ran = yarnspec("journal", "show", str(journal), "--type", "ShuffleDropped")
    assert (ran.code, ran.out, ran.err) == (0, "", "no such records\n")
    ran = yarnspec("journal", "show", str(journal), "--type", "MapFinish")
    assert ran.code == 2
    assert "Did you mean 'MapFinished'" in ran.err
    assert yarnspec("journal", "show", str(journal / "epoch-1")).code == 5
    assert yarnspec("journal", "verify", str(journal / "missing")).code == 5


def test_verify_counts_and_tells_what_it_ignores(journal: Path, yarnspec: Run) -> None:
    ran = yarnspec("journal", "verify", str(journal))
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[1].split()[:6] == ["1", "sealed", "by", "2", "6", str(_size(journal, 1))]
    assert "EpochBegan 1, JobCommitted" not in lines[1]
    assert "ShuffleRegistered 1, JobCommitted 1, MapFinished 1, Carried 1, type 900 1" in lines[1]
    assert lines[2].split()[:2] == ["2", "ended"]
    assert ran.err == (
        "warning: 1 records of epoch 1 are ignored: its writer added them after epoch 2 had taken over\n"
    )
    told = json.loads(yarnspec("journal", "verify", str(journal.parent), "-o", "json").out)
    assert told["schema"] == 1
    assert told["path"] == str(journal)
    assert [(each["epoch"], each["records"], each["damage"]) for each in told["epochs"]] == [
        (1, 6, None),
        (2, 11, None),
    ]
    assert told["epochs"][1]["types"]["MapFinished"] == 2


def _size(journal: Path, epoch: int) -> int:
    return next(
        each.size_bytes for each in JournalDirectory(LocalFiles(), str(journal)).verify() if each.epoch == epoch
    )


def test_damage_has_an_exit_code_and_a_place(tmp_path: Path, yarnspec: Run) -> None:
    write(tmp_path, story(50))
    log = tmp_path / "journal" / "epoch-1" / "log"
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    last = len(data) - len(data[data.rindex(b"\x00\x00\x00\x01") :])
    ran = yarnspec("journal", "verify", str(tmp_path))
    assert ran.code == EXIT_DAMAGED
    assert f"error: the journal is damaged: {log}, byte " in ran.err
    assert "checksum" in ran.err
    told = json.loads(yarnspec("journal", "verify", str(tmp_path), "-o", "json").out)["epochs"][0]
    assert (told["state"], told["records"]) == ("damaged", 50)
    assert told["damage"]["path"] == str(log)
    assert 0 < told["damage"]["offset"] <= last
    ran = yarnspec("journal", "show", str(tmp_path))
    assert ran.code == EXIT_DAMAGED
    assert len(ran.out.splitlines()) == 50  # what came before it


def test_the_journal_of_an_application_is_in_its_history(cluster: HandMadeCluster, yarnspec: Run) -> None:
    ran = yarnspec("journal", "show", APP)
    assert ran.code == 5
    assert "there is no journal" in ran.err
    cluster.history.begin(ApplicationRecord(application_id=APP, name="n", user="me", queue="q", started_ms=1))
    write(Path(cluster.history.path(APP)), story(3), close=False)
    for state in ("RUNNING", "FINISHED"):
        cluster.made_rm.reports[APP] = report(state)
        ran = yarnspec("journal", "show", APP, "-o", "json")
        assert ran.code == 0
        assert len(ran.out.splitlines()) == 4
    assert yarnspec("journal", "verify", APP).out.splitlines()[1].split()[:2] == ["1", "open"]


def test_a_file_uri_is_a_directory_too(journal: Path, yarnspec: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    conf = journal.parent / "conf"
    conf.mkdir()
    (conf / "core-site.xml").write_text("<configuration/>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(conf))
    assert yarnspec("journal", "verify", journal.as_uri()).code == 0
