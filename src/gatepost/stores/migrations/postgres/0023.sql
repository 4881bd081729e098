-- oldest: 22

-- The model of a guest session, if its program says it: on a ledger, the profile of its agent has it.
ALTER TABLE sessions ADD COLUMN model text;
