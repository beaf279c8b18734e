"""`python -m armillary`: the command line."""

from armillary.cli import main

if __name__ == "__main__":
    main()
