"""C99: a program of its own for one system, without globals, allocation or warnings."""
