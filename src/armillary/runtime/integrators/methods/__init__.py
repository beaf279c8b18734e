"""One method per file: its tableau, its source, and the alternative not taken."""
