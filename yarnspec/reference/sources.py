"""The texts of a class in its source, below each field."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Callable


def field_texts(kind: type) -> dict[str, str]:
    """The text below each field of a class and of those that it extends, each as one line."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if each.__module__.startswith("yarnspec."):
            found |= _own(each)
    return found


def sentence_of(kind: Callable[..., object]) -> str:
    """The docstring of a class or function as one line."""
    return " ".join((inspect.getdoc(kind) or "").split())


def _own(kind: type) -> dict[str, str]:
    declared = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    body = [line for each in ast.walk(declared) if isinstance(each, ast.ClassDef) for line in each.body]
    texts = {}
    for field, text in itertools.pairwise(body):
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name):
            continue
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            texts[field.target.id] = " ".join(str(text.value.value).split())
    return texts
