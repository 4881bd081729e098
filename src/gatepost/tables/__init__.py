"""The tables: one module for each group of nouns. Most functions run one named statement and map its rows."""
