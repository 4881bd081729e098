"""Who there is: entities, their names and teams, their keys, and how people sign in."""
