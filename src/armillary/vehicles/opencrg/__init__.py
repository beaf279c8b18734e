"""OpenCRG roads: a grid of heights along a curved reference line, read from and written to .crg files.

Enter with a file; leave with a `CrgRoad`, on which wheels stand as on any `Road`. Read `sections.py` first,
then `files.py` and `surface.py`.
"""
