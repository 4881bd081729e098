INSERT INTO broadcasts
    (number, arrival, dedup_key, priority, sender, sender_is_person, source, expires_at, wakes, size)
VALUES
    (:number, :arrival, :dedup_key, :priority, :sender, :sender_is_person, :source, :expires_at, :wakes, :size)
