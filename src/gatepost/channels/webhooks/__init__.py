"""Webhooks and CloudEvents: verified and parsed."""
