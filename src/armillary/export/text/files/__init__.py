"""Files of exports: folders, templates, heads, run files and settings."""
