"""
Export and import: the whole store as lines of JSON, and back.

It imports every room whose tables it writes. Start with `export_actions.py`, which shows the format; an import is
`import_actions.py`.
"""
