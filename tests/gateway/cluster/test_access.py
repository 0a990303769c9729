"""Which cluster the gateway's commands mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from yarnspec.gateway.cluster.access import hadoop_conf


def test_site_files_beside_sparks_configuration_count_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("spark/conf", "hadoop"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "yarn-site.xml").write_text("<configuration/>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path / "hadoop"))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    for name in ("SPARK_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert hadoop_conf().directories == (tmp_path / "spark" / "conf", tmp_path / "hadoop")
