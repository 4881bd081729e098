"""The ledger: local topics, public networks, profiles and connections."""
