"""Robot files as systems: URDF and MJCF.

Enters: a path. Leaves: a System made with the verbs that users have. Its ``system.imported`` relates the
names of the file to names of the system, and lists the elements that were left out. Read ``mechanism.py``
first, which makes a System of links and joints; ``urdf.py`` and ``mjcf.py`` read links and joints from files.
"""

from armillary.files.robots.mjcf import load_mjcf
from armillary.files.robots.urdf import load_urdf

__all__ = ["load_mjcf", "load_urdf"]
