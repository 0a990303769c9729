"""Log files come from the NodeManager without the head and tail that it wraps them in."""

from __future__ import annotations

import pytest

from tests.yarn.server import Answer, serving
from yarnspec.errors import NotFound
from yarnspec.yarn.rm.container_logs import ContainerLogFile, NodeManagerLogs

CONTAINER = "container_1795230379752_0001_01_000003"
LOGS = f"/ws/v1/node/containers/{CONTAINER}/logs"
WRAPPED = (
    f"Container: {CONTAINER} on 127.0.0.3:24703\nLogAggregationType: LOCAL\n{'=' * 20}\nLogType:executor.log\n"
    "LogLastModifiedTime:Sat Nov 21 03:08:59 +0000 2026\nLogLength:21\nLogContents:\nhello\nEnd of LogType:x\n"
    f"End of LogType:executor.log.This log file belongs to a running container ({CONTAINER}) and so may not be "
    f"complete.\n{'*' * 20}\n\n"
)


def answer(path: str, parameters: dict[str, str]) -> Answer:
    if path == LOGS:
        entries = [{"fileName": "executor.log", "fileSize": "21"}, {"fileName": "a", "fileSize": "0"}]
        return 200, {"containerLogsInfo": {"containerLogInfo": entries, "logAggregationType": "LOCAL"}}
    if path == f"{LOGS}/executor.log":
        return 200, WRAPPED
    if path == f"{LOGS}/plain":
        return 200, f"just text {parameters.get('size')}"
    return 404, {"RemoteException": {"message": "gone"}}


def test_files_and_their_text() -> None:
    with serving(answer) as server, NodeManagerLogs(f"127.0.0.1:{server.port}", user="ada") as logs:
        assert logs.files(CONTAINER) == (ContainerLogFile("a", 0), ContainerLogFile("executor.log", 21))
        assert logs.read(CONTAINER, "executor.log") == "hello\nEnd of LogType:x\n"
        assert logs.read(CONTAINER, "plain", last_bytes=10) == "just text -10"
        with pytest.raises(NotFound):
            logs.read(CONTAINER, "../secret")
        with pytest.raises(NotFound):
            logs.files("container_x")
        with pytest.raises(NotFound):
            logs.read(CONTAINER, "none")
