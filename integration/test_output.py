"""The program's output comes whole, however slow its reader is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import IO, cast

import pytest

from integration.cluster import Cluster
from integration.conftest import NUMBERS, Yarnspec
from integration.processes import ENDS_WITH_US
from integration.submitting import PROGRAMS, SMALL, YARNSPEC
from integration.waiting import wait_for

LINES = 60_000
WHOLE = b"".join(b"%099d\n" % number for number in range(LINES))
WAIT_S = 120


@pytest.mark.one_a_day("features of YARN")
@pytest.mark.timeout(720)
def test_a_reader_that_pauses_gets_all_of_it(cluster: Cluster, yarnspec: Yarnspec, tmp_path: Path) -> None:
    """Nobody reads the pipe until the application has ended: the end of 6 MB is then only in the log."""
    name = f"a-reader-that-pauses-{os.getpid()}-{next(NUMBERS)}"
    command = [*ENDS_WITH_US, YARNSPEC, "submit", "--name", name, *SMALL, str(PROGRAMS / "wide.py"), str(LINES)]
    with (tmp_path / "err").open("wb") as err, subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err, env=cluster.environment
    ) as submit:  # fmt: skip
        try:
            application = wait_for("the application", lambda: cluster.application_named(name), 60)
            wait_for("its end", lambda: cluster.application(application)["state"] == "FINISHED", WAIT_S)
            printed = cast("IO[bytes]", submit.stdout).read()
            code = submit.wait(WAIT_S)
        finally:
            submit.kill()
    assert (code, len(printed)) == (0, len(WHOLE)), (tmp_path / "err").read_text()
    assert printed == WHOLE
    negotiator = yarnspec("logs", application, "--role", "negotiator").expect(0).stdout
    assert "has to read the rest of it in the log" in negotiator
