"""What a store did and what waits: overview, history, fires."""
