"""Think cycles, and what starts them."""
