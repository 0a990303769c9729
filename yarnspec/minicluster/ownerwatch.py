"""The end of a cluster whose owner has ended: in order, by an error, or killed.

`python -m yarnspec.minicluster.ownerwatch HOME` runs beside the cluster's daemons. It waits for the end of the process
that the record calls the owner, and then does what `yarnspec minicluster stop` does. Whoever stops the cluster ends
this process too, but last: it goes on where one stopped that was killed meanwhile.
"""

from __future__ import annotations

import sys

from yarnspec.errors import ClusterUnreachable
from yarnspec.minicluster.cluster import MiniCluster
from yarnspec.minicluster.hadoop.cluster_record import read_record
from yarnspec.minicluster.machine.processes import wait_ended


def main(home: str) -> None:
    """Wait for the owner's end and stop the cluster."""
    cluster = MiniCluster(home)
    record = read_record(cluster.home.record)
    if record is None or record.owner is None:
        return  # it has been stopped already
    wait_ended(record.owner)
    print(f"process {record.owner.pid}, with which the cluster ends, has ended: stopping it", flush=True)
    while True:
        try:
            cluster.stop()
        except ClusterUnreachable as error:
            print(error.message, flush=True)
        else:
            return


if __name__ == "__main__":
    main(sys.argv[1])
