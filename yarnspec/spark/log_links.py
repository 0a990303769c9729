"""The links by which Spark's pages, its event log and its History Server lead to the logs of driver and executors.

They are pages of the NodeManagers, as under Spark on YARN. Spark takes them from variables of the container.
"""

from __future__ import annotations

from collections.abc import Iterable

from yarnspec.plan import EXECUTOR_SERVICE, Plan

EXECUTOR_LOG = f"{EXECUTOR_SERVICE}.log"
"""Skein writes both streams of an executor into it."""

_FROM_THE_END_BYTES = 4096


def executor_links(plan: Plan) -> dict[str, str]:
    """An executor's variables, with references to those of its container."""
    page = _page(plan, EXECUTOR_LOG)
    return {
        "SPARK_LOG_URL_STDOUT": page,
        "SPARK_LOG_URL_STDERR": page,
        **_attributes(plan, "SPARK_EXECUTOR_ATTRIBUTE_", [EXECUTOR_LOG]),
    }


def driver_links(plan: Plan, *, stdout: str, stderr: str) -> dict[str, str]:
    """The driver's variables, with references to those of its container; ``ContainerBackend`` reads them."""
    return {
        "SPARK_DRIVER_LOG_URL_STDOUT": _page(plan, stdout),
        "SPARK_DRIVER_LOG_URL_STDERR": _page(plan, stderr),
        **_attributes(plan, "SPARK_DRIVER_ATTRIBUTE_", [stderr, stdout]),
    }


def _page(plan: Plan, name: str) -> str:
    host = f"{plan.http_scheme}://{{{{NM_HOST}}}}:{{{{NM_HTTP_PORT}}}}"
    return f"{host}/node/containerlogs/{{{{CONTAINER_ID}}}}/{plan.user}/{name}?start=-{_FROM_THE_END_BYTES}"


def _attributes(plan: Plan, prefix: str, names: Iterable[str]) -> dict[str, str]:
    """The names that a pattern of ``spark.history.custom.executor.log.url`` can use, by Spark's names."""
    told = {
        "HTTP_SCHEME": f"{plan.http_scheme}://",
        "NM_HOST": "{{NM_HOST}}",
        "NM_PORT": "{{NM_PORT}}",
        "NM_HTTP_PORT": "{{NM_HTTP_PORT}}",
        "NM_HTTP_ADDRESS": "{{NM_HOST}}:{{NM_HTTP_PORT}}",
        "CLUSTER_ID": plan.cluster_id,
        "CONTAINER_ID": "{{CONTAINER_ID}}",
        "USER": plan.user,
        "LOG_FILES": ",".join(names),
    }
    return {prefix + name: value for name, value in told.items()}
