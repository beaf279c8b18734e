"""Commands that analyse a model besides running it, a file each."""
