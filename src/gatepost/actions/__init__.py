"""The verbs: plain functions over one transaction."""
