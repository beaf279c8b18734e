"""Commands around models and files: checks, comparisons, benchmarks, examples, and what is installed."""
