"""Reads a submit line in a test, without a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from yarnspec.gateway.flags.arguments import SubmitCommand
from yarnspec.gateway.translation.sparkconf import Translation, translate
from yarnspec.options import load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yarnspec.gateway.flags.request import SubmitRequest


def read(*line: str) -> SubmitRequest:
    """Return the request that a line means."""
    requests: list[SubmitRequest] = []
    SubmitCommand("submit", requests.append).main(list(line), standalone_mode=False)
    return requests[0]


def translated(*line: str, environ: Mapping[str, str] | None = None) -> Translation:
    """Translate a line; the environment is empty but for ``environ``, with no configuration directory of Spark."""
    request = read(*line)
    loaded = load(Path(request.config_file) if request.config_file else None, request.settings, {})
    return translate(
        request,
        loaded.options,
        {"SPARK_CONF_DIR": "/nonexistent"} | dict(environ or {}),
        asked=loaded.asked,
    )
