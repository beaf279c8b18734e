"""MJCF models: MuJoCo's XML.

Enters: a path. Leaves: a System. Read ``loading.py`` first: it names the parts of a file in their order. Then
``settings.py`` (units of angles, defaults, included files), ``bodies.py`` with ``shapes.py`` (links, joints,
inertia), ``actuators.py``, ``equalities.py`` and ``keyframes.py``.
"""

from armillary.files.robots.mjcf.loading import load_mjcf

__all__ = ["load_mjcf"]
