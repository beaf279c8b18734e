"""Pages: of one motion, of several runs, of a batch, of a system to be posed, and the printable sheet."""
