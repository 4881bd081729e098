"""Mail, and work items with their notes and events: what is sent and stays on record."""
