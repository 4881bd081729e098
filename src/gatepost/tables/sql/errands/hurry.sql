-- Whatever waits for its next try is due now, and whoever has it may have died.
UPDATE errands SET due_at = :now, holder = NULL, deadline = NULL
WHERE ended_at IS NULL AND (due_at > :now OR deadline > :future)
