"""The description of a mechanical system, in the user's words.

Enters: names, numbers, text and expressions. Leaves: a ``System`` of bodies with joints, loads, memory and
outputs, complete but not derived. Read ``system.py`` first, then ``body.py``, ``joints/`` and ``motion.py``.
"""

from armillary.model.body import Body, Point
from armillary.model.system import System

__all__ = ["Body", "Point", "System"]
