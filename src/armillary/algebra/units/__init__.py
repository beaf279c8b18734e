"""Physical dimensions and units: read, deduced, and of columns in files."""
