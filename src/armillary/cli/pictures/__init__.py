"""Commands that show motions and results: plots, pages, films and live models."""
