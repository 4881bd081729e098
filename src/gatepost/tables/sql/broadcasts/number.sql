-- Locks the row under which broadcasts and registrations take turns.
UPDATE counters SET value = value + :by WHERE name = 'broadcast' RETURNING value
