"""
What the payload of a webhook says, in one line of plain words.

It may import `core` and the records of `inbox`: all of it is pure. Start with `payload_lines.py`.
"""
