"""Numbers of the in-process model that exported code must reproduce."""
