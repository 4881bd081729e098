"""Gatepost over HTTP: the same verbs as in process, and the same nouns as answers."""

from gatepost.client.client import Client
from gatepost.client.doors import MadeKey
from gatepost.client.local import LocalClient
from gatepost.client.sync import SyncClient

__all__ = ["Client", "LocalClient", "MadeKey", "SyncClient"]
