"""The shared inbox of all channels."""
