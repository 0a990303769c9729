"""Spark's shuffle service in the hosts of a mini cluster: what the daemons and clients are told."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from yarnspec.errors import UsageError
from yarnspec.jvm import jar_path

_SERVICE = "spark_shuffle"
_CLASS = "org.yarnspec.minicluster.ShuffleService"


def class_path() -> str:
    """Return the service's class path: Spark's parts of it are in pyspark's jars."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise UsageError("Spark's shuffle service needs pyspark's jars: install pyspark")
    return f"{jar_path()}:{Path(spec.origin).parent / 'jars'}/*"


def properties(port: int, class_path: str) -> dict[str, str]:
    """Return what everybody's yarn-site.xml says of the service, which each host has on the same port."""
    prefix = "yarn.nodemanager.aux-services"
    return {
        prefix: _SERVICE,
        f"{prefix}.{_SERVICE}.class": _CLASS,
        # In a class loader of its own: Spark's Netty is not Hadoop's.
        f"{prefix}.{_SERVICE}.classpath": class_path,
        "spark.shuffle.service.port": str(port),
        "spark.authenticate": "true",
    }
