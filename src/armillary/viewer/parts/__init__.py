"""The drawing of a body: its shapes, links, meshes and bending parts, as data and as triangles."""
