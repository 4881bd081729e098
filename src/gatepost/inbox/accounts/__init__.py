"""The accounts of inboxes, which say whether anything was lost."""
