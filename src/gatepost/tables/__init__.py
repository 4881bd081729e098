"""The nouns at rest: one module for each, every function one named statement and its mapping."""
