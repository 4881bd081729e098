-- From one state to another, if it is still in that.
UPDATE items SET
    state = :state, claim = CAST(:claim AS BIGINT), ended_at = CAST(:ended_at AS BIGINT),
    attempts = CASE WHEN :state = 'pending' THEN 0 ELSE attempts END,
    expires_at = CASE WHEN :state = 'pending' THEN NULL ELSE expires_at END
WHERE recipient = :recipient AND arrival = :arrival AND state = :was
