INSERT INTO items
    (recipient, arrival, dedup_key, priority, sender_is_person, source, expires_at, wakes,
     state, attempts, seen_at, ended_at, size)
VALUES
    (:recipient, :arrival, :dedup_key, :priority, :sender_is_person, :source, :expires_at, :wakes,
     :state, :attempts, :seen_at, :ended_at, :size)
ON CONFLICT DO NOTHING
