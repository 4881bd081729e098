"""The machinery of one operation at every door: a request is declared once, with its answer, access rule and route."""
