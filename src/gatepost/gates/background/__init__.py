"""Check conditions outside the store, and run what an answer starts."""
