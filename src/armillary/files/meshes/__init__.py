"""Mesh files as triangles: STL, OBJ, MSH, GLB and DAE.

Enters: a path. Leaves: corners, faces, and the colours that the file has for them. Read ``reading.py``; the
two formats with nodes and materials have a file each. Nothing in a file is executed, fetched or expanded.
"""
