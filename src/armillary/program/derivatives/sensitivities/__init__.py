"""Programs that carry the derivatives of their motion: by what, of what, and where rates jump."""
