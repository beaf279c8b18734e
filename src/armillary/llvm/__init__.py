"""Programs and loops as machine code in this process.

In: the sections of a program. Out: functions with an address, freed with the object that holds them. Read
`sections.py` first, then `node_writer.py` and `jit.py`. `building/` writes functions with loops;
`arrangement/` orders the operations of a section and chooses their registers.
"""
