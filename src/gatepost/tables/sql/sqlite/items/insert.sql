INSERT INTO items
    (recipient, arrival, dedup_key, priority, sender_is_person, source, expires_at, wakes, state, attempts, size)
VALUES
    (:recipient, :arrival, :dedup_key, :priority, :sender_is_person, :source, :expires_at, :wakes, 'pending', 0, :size)
ON CONFLICT DO NOTHING
