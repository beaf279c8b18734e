"""modelDescription.xml and what stands beside it: variables, units, terminals and documentation."""
