"""The objects that users hold, with the verbs that lead from one stage to the next.

The packages below do not import from the later ones: a description does not derive itself, equations do not
compile themselves. The classes here add these verbs to theirs: ``System`` in ``system.py``, ``Equations`` in
``equations.py``, ``Model`` in ``model.py``.
"""

from armillary.stages.system import System, load

__all__ = ["System", "load"]
