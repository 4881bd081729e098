"""The worker: all background work of one process."""
