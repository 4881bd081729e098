-- oldest: 1

-- How long the chain of events is that a plan goes on with when it fires.
ALTER TABLE plans ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;
