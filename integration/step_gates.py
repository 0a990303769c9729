"""Steps of a program at which it waits until a test lets it go on: files at-STEP and go-STEP in a directory."""

from __future__ import annotations

from pathlib import Path

from integration.submitting import Submission
from integration.waiting import wait_for

STEP_S = 120


class Gates:
    """The gates of one submission."""

    def __init__(self, submission: Submission, directory: Path) -> None:
        self._submission = submission
        self._directory = directory

    def reached(self, step: object) -> None:
        """Wait until the program is there."""

        def there() -> bool:
            self._submission.check_running()
            return (self._directory / f"at-{step}").exists()

        wait_for(f"step {step}", there, STEP_S)

    def go(self, step: object) -> None:
        """Let it go on from there, now or when it comes."""
        (self._directory / f"go-{step}").touch()
