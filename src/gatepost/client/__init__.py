"""Gatepost over HTTP: the same verbs as in process, and the same nouns as answers."""

from gatepost.client.client import Client
from gatepost.client.doors import MadeKey

__all__ = ["Client", "MadeKey"]
