"""The objects that users hold, with the verbs that lead from one stage to the next.

The packages below do not import from later packages: a description does not derive itself, equations do not
compile themselves. The classes here have the verbs that do. ``System`` (``system.py``) is a description.
``Equations`` (``equations.py``) holds derived equations and ``Model`` (``model.py``) a compiled model, each
in its field ``_core``, which the verbs pass to the packages below. Functions that take a model from the user
get its core by ``core_of``.
"""

from armillary.stages.system import System, load

__all__ = ["System", "load"]
