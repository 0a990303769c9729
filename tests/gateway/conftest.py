"""The fixtures of commands, for tests that run one to look at a part of the gateway."""

from tests.cli.conftest import cluster as cluster  # noqa: PLC0414
from tests.cli.conftest import negotiator as negotiator  # noqa: PLC0414
from tests.cli.conftest import yarnspec as yarnspec  # noqa: PLC0414
