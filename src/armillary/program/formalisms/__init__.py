"""The formalisms as programs: their registry, what derivations start from, a file for each kind of states."""
