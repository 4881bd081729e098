-- oldest: 1

-- The limit at which a cycle ended; NULL if its model ended it.
ALTER TABLE runs ADD COLUMN limit_reached text;
