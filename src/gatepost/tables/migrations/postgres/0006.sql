-- oldest: 1

-- The limit at which a cycle ended; NULL if its model ended it.
ALTER TABLE runs ADD COLUMN limit_reached text;

-- When a gate has put its instruction into a cycle of the resident that owns it: once.
ALTER TABLE gates ADD COLUMN instructed_at bigint;
