"""Secrets stay out of command lines, logs and journals, and a task cannot command the application master."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from integration.cluster import Cluster
from integration.conftest import Submit, Yarnspec
from integration.waiting import wait_for

# A user's secrets: in a property, and in the environments of driver and executors.
USER_SECRETS = {
    "spark.hadoop.fs.example.secret.key": "a-very-secret-value-of-the-user",
    "spark.yarn.appMasterEnv.STORE_PASSWORD": "a-password-that-the-driver-needs",
    "spark.executorEnv.STORE_TOKEN": "a-token-that-the-tasks-need",
}
PROC = Path("/proc")


def test_no_secret_in_command_lines_container_logs_and_history(
    submit: Submit, yarnspec: Yarnspec, cluster: Cluster, tmp_path: Path
) -> None:
    """The key of spark.authenticate, Skein's private key and a user's secrets, while it runs and in what it leaves."""
    stop = tmp_path / "stop"
    properties = tmp_path / "user.properties"
    properties.write_text("".join(f"{key} {value}\n" for key, value in USER_SECRETS.items()))
    options = ["--properties-file", str(properties), "--set", "recovery.enabled=true", "--verbose"]
    submission = submit("rounds.py", str(stop), "4", "0.2", "shuffled", options=options)
    application = submission.application_id()
    wait_for("a round", lambda: '"round": 1' in submission.stdout, 90)
    processes = cluster.processes(application)
    executor = next(each for each in processes if each.what == "executor")
    authentication = executor.environment["_SPARK_AUTH_SECRET"]
    assert len(authentication) >= 32
    assert executor.environment["STORE_TOKEN"] == USER_SECRETS["spark.executorEnv.STORE_TOKEN"]
    secrets = {**USER_SECRETS, "authentication": authentication, "key": "PRIVATE KEY-----"}

    for entry in PROC.glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().decode(errors="replace")
        except OSError:
            continue
        assert not [name for name, secret in secrets.items() if secret in line], entry
    texts = cluster.container_log_texts(application)
    assert any(path.name == "launch_container.sh" for path in texts)
    for path, text in texts.items():
        assert not [name for name, secret in secrets.items() if secret in text], path
    # Skein's credentials are gone from the executors' directories.
    for each in processes:
        if each.what == "executor":
            directory = Path(each.environment["PWD"])
            assert (directory / "launch_container.sh").exists(), directory
            assert {path.name for path in directory.glob(".skein*")} <= {".skein.sh"}
    for role in ("driver", "negotiator", "executor", "am"):
        text = yarnspec("logs", application, "--role", role).stdout
        assert not [name for name, secret in secrets.items() if secret in text], role
    stop.touch()
    result = submission.wait().expect(0)
    assert not [name for name, secret in secrets.items() if secret in result.stdout + result.stderr]
    for command in (["events", application, "-o", "json"], ["status", application, "-o", "json"]):
        text = yarnspec(*command).expect(0).stdout
        assert not [name for name, secret in secrets.items() if secret in text], command
    history = f"/user/{cluster.user}/.yarnspec/history/{application}"
    files = list(_files_below(cluster, history))
    for part in ("/epoch-", "/journal/"):
        assert any(part in file for file in files), files
    for file in files:
        content = cluster.hdfs_read(file)
        assert not [name for name, secret in secrets.items() if secret.encode() in content], file


def test_a_task_cannot_command_the_application_master(submit: Submit, cluster: Cluster) -> None:
    """It finds no credentials, is refused with its own, and the application ends right."""
    result = submit("command_am.py", options=["--num-executors", "1"]).wait().expect(0)
    (report,) = result.lines
    assert report["credentials"] == []
    assert report["address"]
    assert "done" not in (report["from_current"], report["own_key_pair"])
    assert report["counted_afterwards"] == 100
    application = _application_of(report["container"])
    assert cluster.application(application)["finalStatus"] == "SUCCEEDED"


def _files_below(cluster: Cluster, directory: str) -> Iterator[str]:
    for status in cluster.hdfs_statuses(directory):
        path = f"{directory}/{status['pathSuffix']}"
        if status["type"] == "DIRECTORY":
            yield from _files_below(cluster, path)
        else:
            yield path


def _application_of(container: str) -> str:
    parts = container.split("_")
    return f"application_{parts[-4]}_{parts[-3]}"
