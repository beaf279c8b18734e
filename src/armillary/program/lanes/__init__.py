"""Vector lanes inside one evaluation: operations of branches that are alike, such as legs or panels, as one.

Enters: a section, and the system's coordinates and speeds that correspond (``alike_branches.py``, from the
tree). Leaves: the section with packs of nodes that are computed together (``packs.py``), as far as it pays
(``pack_choice.py``). Read ``pack.py`` first.
"""

from armillary.program.lanes.pack import Pack

__all__ = ["Pack"]
