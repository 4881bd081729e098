"""The whole store as lines of JSON, and back."""
