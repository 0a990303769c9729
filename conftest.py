"""What all tests share: the choice of one test of each group a day. pytest takes plugins from this directory only."""

from __future__ import annotations

pytest_plugins = ["integration.turns"]
