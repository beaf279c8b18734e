"""The core of a system: a description with the verbs that name and read things and make bodies.

Loads, constraints, contact, memory, flexible parts and the space environment are functions over a
``Description``, each in the file of its idea; ``stages.System`` lists them as the verbs that users call.
"""

from __future__ import annotations

from armillary.model.bodies import bodies
from armillary.model.description import Description, variables
from armillary.model.flexible import attachment
from armillary.model.reading import expressions, references


class SystemCore(Description):
    """A description whose bodies, names and expressions are methods."""

    parameter = expressions.parameter
    function = expressions.function
    define = expressions.define
    body = bodies.body
    shape = bodies.shape

    expression = expressions.expression
    lookup = expressions.lookup
    _triple = references.triple
    variables = variables

    _make_flexible = attachment.make_flexible
    _node = attachment.node_body
    _deflection = attachment.deflection
