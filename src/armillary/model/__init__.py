"""The description of a mechanical system by the user.

Enters: names, numbers, text and expressions. Leaves: a ``System`` of bodies with joints, loads, memory and
outputs, complete but not derived. Read ``description.py`` first, then ``verbs.py`` and, as an example of
verbs, ``loads/forces.py``. A verb is a function that adds to a ``Description``; it is also a method of
``System``.
"""

from armillary.model.bodies.body import Body, Point
from armillary.model.description import Description

__all__ = ["Body", "Description", "Point"]
