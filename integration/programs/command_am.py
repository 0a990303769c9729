"""Tries from a task to command the application master, and prints what came of it as one JSON line.

The tries: Skein's credentials in the application's directories on the host; Skein's client as `from_current` makes it;
the same with a key pair of the task's own making.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

NAMES = (".skein.crt", ".skein.pem")


def attack(_: Iterator[int]) -> Iterator[dict[str, object]]:
    """Run in a task: report what was found and what was refused."""
    import skein
    from skein.core import Security

    container = Path(os.environ["PWD"])
    mine = os.environ["CONTAINER_ID"]
    directory = next((parent for parent in (container, *container.parents) if parent.name == mine), container)
    # The application's directories on this host: what YARN localized for its other containers is in there, too.
    roots = [str(directory), *os.environ["LOCAL_DIRS"].split(",")]
    report: dict[str, object] = {
        "container": mine,
        "directory": str(directory),
        "credentials": sorted(
            str(path) for root in roots for name in NAMES for path in Path(root).rglob(name) if path.exists()
        ),
        "files": sorted(path.name for path in directory.iterdir()),
        "address": os.environ.get("SKEIN_APPMASTER_ADDRESS"),
        "environment": sorted(os.environ),
    }

    def try_shutdown(name: str, security: Security | None) -> None:
        try:
            if security is None:
                client = skein.ApplicationClient.from_current()
            else:
                client = skein.ApplicationClient(
                    os.environ["SKEIN_APPMASTER_ADDRESS"], os.environ["SKEIN_APPLICATION_ID"], security=security
                )
            client.shutdown("FAILED", "a task did this")
            report[name] = "done"
        except BaseException as error:
            report[name] = f"{type(error).__name__}: {error}"[:200]

    try_shutdown("from_current", None)
    try_shutdown("own_key_pair", Security.new_credentials())
    yield report


def main() -> None:
    """Attack from one task, then go on: the application must not notice."""
    spark = SparkSession.builder.getOrCreate()
    report = spark.sparkContext.parallelize([0], 1).mapPartitions(attack).collect()[0]
    report["counted_afterwards"] = spark.range(100).count()
    print(json.dumps(report), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
