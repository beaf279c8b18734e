"""Files that users write: text models, robot files and FMUs."""
