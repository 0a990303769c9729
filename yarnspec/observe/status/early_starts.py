"""Executors that have registered before anybody has heard which container YARN gave for them."""

from __future__ import annotations

import msgspec

from yarnspec.core.messages.events import ContainerAllocated, ContainerLost, ContainerStarted

ContainerEvent = ContainerAllocated | ContainerStarted | ContainerLost


class EarlyStarts:
    """Keeps the start of such an executor until its container is known."""

    def __init__(self) -> None:
        self._early: dict[str, ContainerStarted] = {}

    def in_order(self, event: ContainerEvent) -> tuple[ContainerEvent, ...]:
        """What is to be told of containers now: an early start comes after the allocation, and names its container."""
        if isinstance(event, ContainerStarted) and not event.container_id:
            self._early[event.executor_id] = event
            return ()
        early = self._early.pop(event.executor_id, None)
        if early is None or not isinstance(event, ContainerAllocated):
            return (event,)
        return event, msgspec.structs.replace(early, container_id=event.container_id)
