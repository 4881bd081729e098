"""What several benchmarks use: processes and callers to measure with, inboxes to measure on, and tables of results."""
