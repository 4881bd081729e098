"""SQLite and PostgreSQL behind one port."""
