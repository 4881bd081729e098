-- oldest: 1

-- How long the chain of events is that a plan goes on with when it fires, and a gate when it ends by itself.
ALTER TABLE plans ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;
ALTER TABLE gates ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;
-- Since when it has been so long: of what is long past, a gate does not go on with the chain.
ALTER TABLE gates ADD COLUMN hops_at INTEGER NOT NULL DEFAULT 0;
