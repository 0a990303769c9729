"""What an application has and waits for, in words. For the terminal and the page."""

from __future__ import annotations

from yarnspec.core.messages.commands import RULE_WORDS
from yarnspec.observe.forms.document import AskStatus, ResourcesStatus
from yarnspec.observe.forms.moments import span
from yarnspec.units import counted

ENDED_PHASES = ("finished", "failed")

_SHOWN_ASKS = 4
_SHOWN_NAMES = 4


def resources_in_words(resources: ResourcesStatus, wanted: int, now_ms: int) -> str:
    """The phase, for how long, and what the application waits for; nothing after its end.

    ``wanted``: how many executors are asked for.
    """
    if resources.phase in ENDED_PHASES:
        return ""
    words = f"{resources.phase.replace('_', ' ')} for {span(now_ms - resources.since_ms)}"
    if resources.phase != "created":
        words += f"; {counted(resources.have, 'executor')}"
    if resources.sufficient:
        words += f", at least {resources.sufficient}, at most {resources.desired}"
    elif resources.desired:
        of = f" of {wanted}" if wanted >= resources.desired else ""  # `scale` changes nothing of this start
        words += f", starts at {resources.desired}{of}"
    if resources.waits_for:
        words += f"; waits for {resources.waits_for}"
        if resources.until_ms is not None:
            words += f", {span(max(0, resources.until_ms - now_ms))} more"
    return words


def asks_in_words(asks: tuple[AskStatus, ...], most: int = _SHOWN_ASKS, constraint: str = "") -> str:
    """How many containers are asked for, and where: at most so many places, and how many containers elsewhere.

    ``constraint``: the user's. It holds on hosts that are named, and the others have to wait for one where it does.
    """
    condition = f" where {constraint} holds" if constraint else ""
    words = [
        f"{one.containers}{_of_profile(one.profile)} {RULE_WORDS[one.rule]}{_named(one.hosts) or condition}"
        for one in asks[:most]
    ]
    rest = sum(one.containers for one in asks[most:])
    return "; ".join([*words, f"{rest} elsewhere (-o json)"] if rest else words)


def _of_profile(profile: int) -> str:
    return f" of resource profile {profile}" if profile else ""


def _named(hosts: tuple[str, ...]) -> str:
    return f" {', '.join(hosts[:_SHOWN_NAMES])}{', …' if len(hosts) > _SHOWN_NAMES else ''}" if hosts else ""
