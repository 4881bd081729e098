"""Those who act."""
