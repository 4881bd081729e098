"""Routing rules, and messages that nobody got."""
