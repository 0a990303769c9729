"""A submission that broke off while files were uploaded: what is left of it, and what becomes of that."""

from __future__ import annotations

from collections.abc import Sequence

from yarnspec.errors import NotFound, YarnspecError
from yarnspec.gateway.cluster.access import Cluster
from yarnspec.yarn.skein.staging_directory import staging_directory

_NOTHING = "nothing was submitted"


class SubmissionInterrupted(KeyboardInterrupt):
    """^C before the submission was done; its text says what is left of it."""


def clear_away(cluster: Cluster, begun: Sequence[str]) -> str:
    """Delete what was uploaded for these applications, unless YARN has taken them; returns what became of them."""
    return "; ".join(_clear_away(cluster, each) for each in begun) or _NOTHING


def _clear_away(cluster: Cluster, application_id: str) -> str:
    try:
        if not cluster.rm.application(application_id).ended:
            return f"YARN has taken {application_id} all the same; end it with  yarnspec kill {application_id}"
    except NotFound:
        pass
    except YarnspecError as error:
        return f"nobody can tell whether YARN has taken {application_id}: {error.message}"
    try:
        cluster.files.delete(staging_directory(cluster.files.home, application_id))
    except (YarnspecError, OSError) as error:
        return f"{_NOTHING}, but what was uploaded for {application_id} could not be deleted: {error}"
    return f"{_NOTHING}, and what was uploaded is deleted"
