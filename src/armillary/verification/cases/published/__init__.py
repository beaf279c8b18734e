"""Systems of other programs and theses, with their numbers and counts of operations."""
