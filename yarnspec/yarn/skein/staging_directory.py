"""Where Skein keeps an application's files in HDFS, and how what ended applications left there is swept.

Skein's AM deletes its staging directory when it ends by itself; after ``yarn application -kill`` nobody does. The next
submission of the same user sweeps it: only directories of applications that the ResourceManager says were ours and have
ended. A directory alone does not say whose application it is, since other programs that use Skein keep theirs in the
same place. So the sweep leaves alone what the ResourceManager does not know (any more). Such an application may still
run: the ResourceManager lost its state, or another cluster uses the same HDFS.
"""

from __future__ import annotations

from yarnspec.yarn.files.cluster_files import Files
from yarnspec.yarn.rm.resource_manager import APPLICATION_TYPE, ResourceManager
from yarnspec.yarn.rm.rm_reports import FINISHED_STATES

_PARENT = ".skein"


def staging_directory(home: str, application_id: str) -> str:
    """Where Skein keeps an application's files until it ends."""
    return f"{home.rstrip('/')}/{_PARENT}/{application_id}"


def sweep(files: Files, resource_manager: ResourceManager) -> list[str]:
    """Delete the staging directories of this user's ended yarnspec applications; answers the application ids."""
    parent = f"{files.home}/{_PARENT}"
    try:
        present = {entry.name for entry in files.list(parent) if entry.is_directory}
    except FileNotFoundError:
        return []
    if not present:
        return []
    ended = resource_manager.applications(
        user=resource_manager.user, types=(APPLICATION_TYPE,), states=sorted(FINISHED_STATES)
    )
    swept = []
    for application in ended:
        # Filtered again here: an older ResourceManager that ignored a filter must not make us delete more.
        ours = application.type == APPLICATION_TYPE and application.user == resource_manager.user
        if ours and application.ended and application.id in present and files.delete(f"{parent}/{application.id}"):
            swept.append(application.id)
    return sorted(swept)
