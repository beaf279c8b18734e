"""Many runs: batches on vectors, threads and GPUs; studies on disk and on clusters."""
