"""Files that appear whole or not at all; see `armillary.atomic`."""

from armillary.atomic import replacing as replacing
