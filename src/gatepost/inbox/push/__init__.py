"""Push events into inboxes: checked, deduplicated, stored, and signalled."""
