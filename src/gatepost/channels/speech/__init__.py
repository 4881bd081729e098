"""Voice messages, and what transcribes them."""
