"""Spark's links to the logs of driver and executors."""

from __future__ import annotations

from tests.spark.plain_plan import plan
from yarnspec.spark.log_links import driver_links, executor_links
from yarnspec.spark.variables import set_variables

CONTAINER = {"NM_HOST": "node7", "NM_PORT": "45454", "NM_HTTP_PORT": "8042", "CONTAINER_ID": "container_1"}


def test_both_streams_of_an_executor_are_in_one_log() -> None:
    found = set_variables(executor_links(plan()), CONTAINER)
    page = "http://node7:8042/node/containerlogs/container_1/me/executor.log?start=-4096"
    assert (found["SPARK_LOG_URL_STDOUT"], found["SPARK_LOG_URL_STDERR"]) == (page, page)


def test_the_drivers_streams_and_what_a_pattern_of_the_history_server_can_name() -> None:
    links = driver_links(plan(http_scheme="https", cluster_id="blue"), stdout="driver.stdout", stderr="driver.stderr")
    found = set_variables(links, CONTAINER)
    start = "https://node7:8042/node/containerlogs/container_1/me"
    assert found["SPARK_DRIVER_LOG_URL_STDOUT"] == f"{start}/driver.stdout?start=-4096"
    assert found["SPARK_DRIVER_LOG_URL_STDERR"] == f"{start}/driver.stderr?start=-4096"
    prefix = "SPARK_DRIVER_ATTRIBUTE_"
    assert {name.removeprefix(prefix): value for name, value in found.items() if name.startswith(prefix)} == {
        "HTTP_SCHEME": "https://",
        "NM_HOST": "node7",
        "NM_PORT": "45454",
        "NM_HTTP_PORT": "8042",
        "NM_HTTP_ADDRESS": "node7:8042",
        "CLUSTER_ID": "blue",
        "CONTAINER_ID": "container_1",
        "USER": "me",
        "LOG_FILES": "driver.stderr,driver.stdout",
    }
