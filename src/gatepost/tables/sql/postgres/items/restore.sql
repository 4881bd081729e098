INSERT INTO items
    (recipient, arrival, dedup_key, priority, sender_is_person, source, expires_at, wakes,
     state, attempts, seen_at, ended_at, size)
SELECT * FROM unnest(
    :recipient::bigint[], :arrival::bigint[], :dedup_key::text[], :priority::smallint[], :sender_is_person::boolean[],
    :source::text[], :expires_at::bigint[], :wakes::boolean[],
    :state::text[], :attempts::smallint[], :seen_at::bigint[], :ended_at::bigint[], :size::integer[]
)
ON CONFLICT DO NOTHING
