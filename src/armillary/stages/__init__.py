"""The objects that users hold, with the verbs that lead from one stage to the next.

The packages below do not import from the later ones: a description does not derive itself, equations do not
compile themselves. The classes here have these verbs. ``System`` (``system.py``) is a description.
``Equations`` (``equations.py``) holds derived equations and ``Model`` (``model.py``) a compiled model, in the
field ``_core``, which their verbs hand to the packages below. Functions to which users give a model take it
out by ``core_of``.
"""

from armillary.stages.system import System, load

__all__ = ["System", "load"]
