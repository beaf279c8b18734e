"""Programs and loops as machine code in this process."""
