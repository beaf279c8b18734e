"""Robot files as systems: URDF and MJCF.

Enters: a path. Leaves: a System made with the same verbs that a user has, and ``system.imported``: the file's
names and ours, and a list of what was left out. Read ``mechanism.py`` first (links and joints, to
which both formats are brought, and the System made of them), then ``urdf.py`` or ``mjcf.py``.
"""

from armillary.files.robots.mjcf import load_mjcf
from armillary.files.robots.urdf import load_urdf

__all__ = ["load_mjcf", "load_urdf"]
