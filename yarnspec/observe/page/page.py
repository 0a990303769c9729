"""One application's page as HTML: the sections in their order, out of templates that escape every string."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import re
from functools import cache
from typing import Any

import jinja2
import markupsafe
import msgspec

from yarnspec.observe.forms.document import StatusDocument
from yarnspec.observe.forms.moments import at_time, clock, day_clock, span, zone
from yarnspec.observe.forms.resource_words import asks_in_words, resources_in_words
from yarnspec.observe.forms.told import clipped, in_two, told
from yarnspec.observe.page.container_rows import containers_by_host, over_time, shown_containers
from yarnspec.observe.page.drawing import brief, percent, took
from yarnspec.observe.page.host_rows import host_rows
from yarnspec.observe.page.page_fold import SHOWN_EVENTS, PageFold
from yarnspec.observe.page.scene import Scene, scene_of
from yarnspec.observe.page.sentences import sentences, summary, untold_warnings
from yarnspec.observe.page.stage_rows import stage_rows
from yarnspec.observe.page.task_rows import copy_rows, ledger_of, task_groups
from yarnspec.observe.page.timeline import timeline
from yarnspec.observe.status.progress import short_reason
from yarnspec.units import counted

_WHOLE_STATUS_BYTES = 160 * 1024
MOST_BYTES = 1_450_000
"""A page that would be larger is drawn again, with fewer dots, tasks, stages and hosts. Style and script come to it."""
_TRIES = 3
_TONES = {"SUCCEEDED": "good", "FAILED": "bad", "KILLED": "bad", "RUNNING": "calm"}
_BODY = "<!--body-->"
_LABEL = re.compile(r"\.(?=[A-Za-z])")
_SIGNS = {"good": "✓", "bad": "✗", "warn": "!", "calm": "•"}


class Live(msgspec.Struct, frozen=True, kw_only=True):
    """Of a page that is served while the application runs: where others are, and how often it looks again."""

    body_path: str
    tag: str = ""
    spark_path: str = ""
    every_s: float = 2.0


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where the page's facts come from, for its foot. ``log``: Spark's event log, and not yarnspec's own records."""

    version: str = ""
    log: str = ""
    notes: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()


def page(
    fold: PageFold,
    document: StatusDocument,
    now_ms: int,
    *,
    source: Source | None = None,
    live: Live | None = None,
) -> str:
    """The whole document."""
    return page_around(body(fold, document, now_ms, source=source, live=live), document, live)


def page_around(part: str, document: StatusDocument, live: Live | None = None) -> str:
    """The whole document around its changing part."""
    title = f"{document.name or document.application_id} ({summary(document)})"
    around = _environment().get_template("page.html").render(title=title, live=live, policy=_policy(live))
    # The first one is the template's own: what stands before it holds no string of a user but the escaped title.
    return around.replace(_BODY, part, 1)


def body(
    fold: PageFold,
    document: StatusDocument,
    now_ms: int,
    *,
    source: Source | None = None,
    live: Live | None = None,
) -> str:
    """The part of the page that changes while the application runs."""
    scene = scene_of(fold, document, now_ms)
    template = _environment().get_template("body.html")
    text = template.render(_context(scene, source or Source(), live))
    for _ in range(_TRIES):
        size = len(text.encode())
        if size <= MOST_BYTES:
            break
        scene.share *= 0.8 * MOST_BYTES / size
        text = template.render(_context(scene, source or Source(), live))
    return text


def _context(scene: Scene, source: Source, live: Live | None) -> dict[str, Any]:
    document = scene.document
    hosts, more_hosts = host_rows(scene)
    stages, more_stages = stage_rows(scene)
    copies, more_copies = copy_rows(scene)
    containers, more_containers = shown_containers(scene)
    shown, left_out = _as_json(document)
    said = sentences(scene)
    return {
        "document": document,
        "ended": scene.ended,
        "fold": scene.fold,
        "source": source,
        "live": live,
        "tone": _TONES.get(document.state, "calm"),
        "now_ms": scene.now_ms,
        "length_ms": scene.scale.length_ms,
        "begin_ms": scene.scale.begin_ms,
        "sentences": said,
        "warnings": untold_warnings(scene, said),
        "missing": _missing(scene),
        "timeline": timeline(scene, hosts),
        "hosts": hosts,
        "told_reasons": {(one.host, one.reason) for one in hosts},
        "more_hosts": more_hosts,
        "stages": stages,
        "plots": sum(one.plot is not None for one in stages),
        "more_stages": more_stages,
        "groups": task_groups(scene),
        "copies": copies,
        "ledger": ledger_of(scene),
        "more_copies": more_copies,
        "executors": over_time(scene),
        "resources": _resources(document, scene.now_ms),
        "asks": asks_in_words(document.asks, len(document.asks), document.placement_constraint),
        "by_host": containers_by_host(scene),
        "containers": containers,
        "more_containers": more_containers,
        "events": [
            (clock(one.time_ms), f"{one.epoch}.{one.seq}", one.kind, one.type, clipped(told(one), 400))
            for one in list(reversed(scene.fold.last))[: scene.few(SHOWN_EVENTS)]
        ],
        "status_json": shown,
        "left_out": left_out,
        "attempts": len(scene.attempts),
    }  # fmt: skip


def _resources(document: StatusDocument, now_ms: int) -> str:
    if document.resources is None:
        return ""
    return resources_in_words(document.resources, document.wanted_containers, now_ms)


def _missing(scene: Scene) -> list[str]:
    found = scene.fold.missing.sentences()
    if scene.share < 1:
        shown = f"{scene.share:.0%} of what they have room for otherwise"
        found.append(f"The page would be too large for a browser: its drawings and tables show {shown}.")
    return found


def _as_json(document: StatusDocument) -> tuple[str, list[str]]:
    """The status as `yarnspec status -o json` prints it. Where it is too long, its longest parts are left out."""
    parts = msgspec.to_builtins(document)
    left_out: list[str] = []
    while len(whole := _pretty(parts)) > _WHOLE_STATUS_BYTES:
        left_out.append(max(parts, key=lambda name: len(_pretty(parts[name]))))
        del parts[left_out[-1]]
    return whole.decode(), left_out


def _pretty(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2)


def _policy(live: Live | None) -> str:
    """The policy by which the browser loads nothing from anywhere, and heeds only our own style and script."""
    rules = ["default-src 'none'", f"style-src {_hash('page.css')}", f"script-src {_hash('page.js')}"]
    return "; ".join(
        [
            *rules,
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            *([] if live is None else ["connect-src 'self'"]),
        ]
    )


def _hash(name: str) -> str:
    # A template that is included has lost its last line end.
    text = _file(name).removesuffix("\n")
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _file(name: str) -> str:
    return (importlib.resources.files(__package__) / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_file),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_readable,
        auto_reload=False,
    )
    environment.filters |= {
        "took": took, "at_time": at_time, "day_clock": day_clock, "span": span, "zone": zone, "number": _number,
        "bytes": _bytes, "percent": percent, "brief": brief, "safe_link": _safe_link, "clip": clipped, "in_two": in_two,
        "short_reason": short_reason, "host": _host, "counted": counted,
    }  # fmt: skip
    environment.globals |= {"signs": _SIGNS}
    return environment


def _readable(value: object) -> object:
    """Text that the page may have: no control character, no half of a pair, nothing that turns the direction."""
    if not isinstance(value, str) or isinstance(value, markupsafe.Markup) or value.isprintable():
        return value
    return "".join(one if one.isprintable() or one == "\n" else " " if one.isspace() else "\ufffd" for one in value)


def _host(words: str) -> markupsafe.Markup:
    """Words with names of hosts, which are long in many clusters. The browser may break a name before its labels."""
    escaped = str(markupsafe.escape(_readable(words)))
    return markupsafe.Markup(f'<span class="host">{_LABEL.sub(".<wbr>", escaped)}</span>')  # noqa: S704 - it is escaped


def _safe_link(url: str) -> str:
    """A link that leads to a page, and never runs anything."""
    return url if url.startswith(("http://", "https://")) else "#"


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _bytes(value: int) -> str:
    size = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:  # noqa: PLR2004
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
