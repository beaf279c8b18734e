"""The report of a cluster's worker on its environment.

The function is sent to the worker as code, so that it also runs on a worker without Armillary.

`report` is pickled by value, so it may use only names that it imports itself.
"""

from __future__ import annotations


def report(folder: str, unfinished: str) -> dict[str, str]:
    """Return the environment of a worker: its host, its Armillary (or why it has none), and the study's
    folder.
    """
    import os
    import socket
    import tempfile

    found = {"host": socket.gethostname(), "version": "", "why": "", "folder": ""}
    try:
        from armillary.version import VERSION

        found["version"] = VERSION
    except Exception as error:  # any error of a broken installation is reported as the reason
        found["why"] = f"{type(error).__name__}: {error}"
    try:
        if not os.path.isfile(os.path.join(folder, "study.json")):
            found["folder"] = f"sees no study in '{folder}'"
        else:
            with tempfile.TemporaryFile(dir=os.path.join(folder, unfinished)):
                pass
    except OSError as error:
        found["folder"] = f"cannot write to '{folder}' ({error.strerror or error})"
    return found


def unfit(found: dict[str, str], version: str) -> str:
    """Return the reason why a worker cannot take part, from its report; "" if it can."""
    here = f"the worker on {found['host']}"
    if not found["version"]:
        return f"{here} has no Armillary ({found['why']}): install armillary=={version} there"
    if found["version"] != version:
        return f"{here} has Armillary {found['version']}, and the study is run with {version}: install that"
    if found["folder"]:
        return (
            f"{here} {found['folder']}: the folder must be on a disk that all workers share, under the same "
            "path, and that they may write to"
        )
    return ""
