"""The page's socket is there from the start, and the process behind it when somebody looks."""

from __future__ import annotations

import os
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from yarnspec.am.page.application_page import ApplicationPage
from yarnspec.am.page.live_page import LivePage
from yarnspec.am.page.routes import Routes
from yarnspec.observe.http.page_order import PageOrder
from yarnspec.yarn.skein.am_client import ContainerServiceError

# Says once what it was ordered, and who it is, under whatever path.
_ONCE = """
import json, os, socket, sys
order = json.loads(sys.stdin.read())
connection, _ = socket.socket(fileno=int(sys.argv[1])).accept()
connection.recv(4096)
body = json.dumps({"order": order, "pid": os.getpid(), "skein": [one for one in os.environ if "SKEIN" in one]}).encode()
connection.sendall(b"HTTP/1.0 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
connection.close()
"""
ORDER = PageOrder(
    application_id="application_1_0001", prefix="", directory="/d", first_epoch=1, history_directory="/h", url="u",
    token="secret",
)  # fmt: skip


class Server:
    """Skein's web server."""

    def __init__(self) -> None:
        self.shown: dict[str, str] = {}
        self.refuses = False
        self.told = threading.Event()

    def show_page(self, route: str, target: str) -> None:
        if self.refuses:
            raise ContainerServiceError("gone")
        self.shown[route] = target
        if route == "spark":
            self.told.set()


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LivePage]:
    monkeypatch.setenv("SKEIN_SECRET", "x")
    monkeypatch.setattr("yarnspec.am.page.live_page._PAUSE_S", 0.01)
    made = LivePage(tmp_path / "page.log", (sys.executable, "-c", _ONCE))
    yield made
    made.stop()


def look(url: str) -> dict[str, object]:
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 - on this machine
        found: dict[str, object] = msgspec.json.decode(answer.read())
        return found


def test_the_first_look_starts_the_process_and_the_next_one_again_when_it_has_ended(page: LivePage) -> None:
    page.begin(ORDER)
    first, second = look(page.url), look(page.url)
    assert first["pid"] != second["pid"] != os.getpid()
    order = msgspec.convert(first["order"], PageOrder)
    assert page.url.endswith(f"/{order.prefix}/")
    assert len(order.prefix) >= 24
    assert msgspec.structs.replace(order, prefix="") == ORDER
    assert not first["skein"]
    assert "secret" not in repr(order)


def test_nobody_is_answered_after_the_end(page: LivePage) -> None:
    page.begin(ORDER)
    page.stop()
    with pytest.raises(urllib.error.URLError):
        look(page.url)


def test_sparks_page_is_shown_from_loopback() -> None:
    server = Server()
    routes = Routes(server)
    assert routes.begin("http://127.0.0.1:5/p/")
    routes.spark("http://host-of-the-am:4041")
    assert server.told.wait(10)
    assert server.shown == {
        "": "http://127.0.0.1:5/p/", "yarnspec": "http://127.0.0.1:5/p/", "spark": "http://127.0.0.1:4041/"
    }  # fmt: skip


def test_without_skeins_server_yarns_link_leads_to_sparks_page(tmp_path: Path) -> None:
    server = Server()
    server.refuses = True
    page = ApplicationPage(tmp_path / "page.log", server, wanted=True)
    assert not page.is_shown
    assert page.show_spark is None
    page.serve(ORDER)
    page.stop()
    unwanted = ApplicationPage(tmp_path / "page.log", Server(), wanted=False)
    assert not unwanted.is_shown
    unwanted.stop()
