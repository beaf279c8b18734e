"""The description of a mechanical system, in the user's words.

Enters: names, numbers, text and expressions. Leaves: a ``System`` of bodies with joints, loads, memory and
outputs, complete but not derived. Read ``description.py`` first, the core, then ``verbs.py`` and
``loads/forces.py``: verbs are functions over the core.
"""

from armillary.model.bodies.body import Body, Point
from armillary.model.description import Description

__all__ = ["Body", "Description", "Point"]
