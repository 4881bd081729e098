"""Triggers: how something outside reaches agents."""
