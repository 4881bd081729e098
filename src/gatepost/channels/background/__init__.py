"""Readers and senders of channels."""
