"""The sockets: what the verbs need of the world, as protocols."""
