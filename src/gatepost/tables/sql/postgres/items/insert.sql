INSERT INTO items
    (recipient, arrival, dedup_key, priority, sender_is_person, source, expires_at, wakes, state, attempts, size)
SELECT recipient, arrival, dedup_key, priority, sender_is_person, source, expires_at, wakes, 'pending', 0, size
FROM unnest(
    :recipient::bigint[], :arrival::bigint[], :dedup_key::text[], :priority::smallint[], :sender_is_person::boolean[],
    :source::text[], :expires_at::bigint[], :wakes::boolean[], :size::integer[]
) AS item (recipient, arrival, dedup_key, priority, sender_is_person, source, expires_at, wakes, size)
ON CONFLICT DO NOTHING
