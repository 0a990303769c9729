"""The process: its order comes on standard input, its listening socket is the file descriptor that is its argument."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time

import msgspec
import uvicorn

from yarnspec.gateway.application.client import NegotiatorClient
from yarnspec.livepage.page_follower import Follower
from yarnspec.livepage.server import IdleClock, make_app
from yarnspec.observe.http.page_order import PageOrder
from yarnspec.observe.http.rest import Endpoint
from yarnspec.observe.log.history import History
from yarnspec.yarn.files.cluster_files import open_files, path_of
from yarnspec.yarn.hadoop.hadoop_conf import HadoopConf

_IDLE_S = 600.0
"""So long after the last look the process ends: its memory is the driver's. The next look starts it again."""
_NICE = 10


def main() -> None:
    """Serve until nobody looks any more, or the negotiator is gone."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=PageOrder)
    os.nice(_NICE)
    parent = os.getppid()
    endpoint = msgspec.json.encode(Endpoint(url=order.url, token=order.token, epoch=order.first_epoch, attempt=0))
    client = NegotiatorClient(order.application_id, lambda: endpoint, patience_s=1.0)
    history = History(open_files(HadoopConf.read()), path_of(order.history_directory))
    first = order.first_epoch
    follower = Follower(
        order, client, lambda: history.all_events(order.application_id, before=first) if first > 1 else iter(())
    )
    clock = IdleClock()

    def watch() -> None:
        while os.getppid() == parent and clock.idle_s < _IDLE_S:
            time.sleep(1)
        os._exit(0)

    threading.Thread(target=watch, name="watch", daemon=True).start()
    config = uvicorn.Config(
        make_app(follower, order.prefix, clock.looked),
        log_level="warning",
        access_log=False,
        lifespan="off",
        http="h11",
        ws="none",
        loop="asyncio",
        limit_concurrency=64,
        server_header=False,
        proxy_headers=False,
    )
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[1]))])


if __name__ == "__main__":
    main()
