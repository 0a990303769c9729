"""Keep Skein's own use of deprecated modules out of the user's warnings."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_skein() -> Iterator[None]:
    """Skein 0.8.2 compares versions with distutils whenever it makes a client; nobody but Skein can change that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield
