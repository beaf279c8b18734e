"""The formalisms, each in a file or folder."""
