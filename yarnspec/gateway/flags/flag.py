"""One flag of ``yarnspec submit``, as its field of ``SubmitRequest`` declares it."""

from __future__ import annotations

from typing import Literal

import msgspec

Treatment = Literal["honoured", "translated", "warned", "refused"]
Shape = Literal["text", "list", "repeated", "switch", "on_off"]


class Flag(msgspec.Struct, frozen=True, kw_only=True):
    """One flag: its names, the field of ``SubmitRequest`` that it fills, and its effect.

    A flag is written into its field's annotation, which fills in ``field``. Without ``names`` the flag is called like
    its field. ``shape`` says what the flag takes. It takes one text (the last one given wins), a comma-separated list,
    or one text each time it is repeated. A switch takes nothing, and may have a ``--no-`` form.
    """

    names: tuple[str, ...] = ()
    field: str | None = None
    shape: Shape = "text"
    metavar: str | None = None
    group: Literal["spark-submit", "yarnspec"] = "spark-submit"
    spark_property: str | None = None
    """The Spark property that the flag is another way to write."""
    rewritten: bool = False
    """Spark's launcher rewrites the flag as ``--conf``, so that the later of the two wins."""
    translated: bool = False
    """The flag has its effect in another way than in spark-submit."""
    about: str = ""
    """The help text of a flag that has an effect."""
    warning: str = ""
    """Of a flag without effect: the end of the sentence "--flag has …", which is its help text as well."""
    advice: str = ""
    """Of a flag that is refused: what to use instead. Such a flag has no field."""

    @property
    def treatment(self) -> Treatment:
        """How a submit treats the flag."""
        if self.advice:
            return "refused"
        if self.warning:
            return "warned"
        return "translated" if self.translated else "honoured"

    @property
    def help(self) -> str:
        """The text on the help page."""
        if self.advice:
            return f"Refused: {self.advice}"
        return f"{self.warning[0].upper()}{self.warning[1:]}." if self.warning else self.about
