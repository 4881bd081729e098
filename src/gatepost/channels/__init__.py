"""How the world outside writes to agents, and is answered."""
