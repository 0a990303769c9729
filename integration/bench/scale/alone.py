"""`python -m integration.bench.scale.alone NAME CONTAINERS MEMORY_MB AM_VCORES`: a plain Skein application.

It submits one service with so many instances, without anything of yarnspec's, and prints the application's id.
"""

from __future__ import annotations

import sys

import skein

# The same as yarnspec gives Skein's JVM (``gateway/submit/assembly.py``), so that only yarnspec is the difference.
SKEIN_JVM = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def main(name: str, containers: int, memory_mb: int, am_vcores: int) -> None:
    """Submit it."""
    security = skein.Security.new_credentials()
    specification = skein.ApplicationSpec(
        name=name,
        master=skein.Master(resources=skein.Resources(memory=1024, vcores=am_vcores), env=SKEIN_JVM, security=security),
        services={
            "sleeper": skein.Service(
                resources=skein.Resources(memory=memory_mb, vcores=1),
                script="sleep infinity",
                instances=containers,
                max_restarts=0,
            )
        },
    )
    with skein.Client(security=security) as client:
        print(client.submit(specification), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
