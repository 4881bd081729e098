"""The nouns: pure data and rules, no I/O, no clock."""
