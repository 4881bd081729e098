"""
The store on SQLite and on PostgreSQL: threads that write and read, group commit, named statements, migrations.

It imports `core`, `reactions` and `errors` alone. Start with `threaded_store.py`, which both stores share, and
`group_commit.py`.
"""
