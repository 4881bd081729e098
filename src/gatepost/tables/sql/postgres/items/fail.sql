-- A failure of its own: one more, and when there were too many, dead.
UPDATE items SET
    attempts = attempts + 1,
    claim = NULL,
    state = CASE WHEN attempts + 1 >= :attempts THEN 'dead' ELSE 'pending' END,
    ended_at = CASE WHEN attempts + 1 >= :attempts THEN CAST(:now AS BIGINT) END
WHERE claim = :claim AND state = 'claimed'
    AND arrival IN (SELECT arrival FROM events WHERE id = ANY (:events))
