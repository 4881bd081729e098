"""Gates, which keep an agent from stopping, and decisions, which are questions with a gate."""
