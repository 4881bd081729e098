-- name: read_watermark (sqlite)
-- The last position up to which all events are visible, the first that no event can have yet, and whether there are
-- more.
SELECT
    0 AS last_transaction, value AS last_arrival, 0 AS end_transaction, value + 1 AS end_arrival, FALSE AS has_more
FROM counters
WHERE name = 'arrival'

-- name: read_watermark (postgres)
-- The last position up to which all events are visible: that of an event, because the number of a transaction that
-- stored nothing may be used again after a crash. Then the first position that no event can have yet, and whether there
-- are more: events that are visible, while others that come before them may not be visible yet.
SELECT
    coalesce(last.xid::text::bigint, 0) AS last_transaction, coalesce(last.arrival, 0) AS last_arrival,
    running.oldest::text::bigint AS end_transaction, 0::bigint AS end_arrival,
    EXISTS (SELECT 1 FROM events e WHERE e.xid >= running.oldest) AS has_more
FROM (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS oldest) AS running
LEFT JOIN LATERAL (
    SELECT e.xid, e.arrival
    FROM events e
    WHERE e.xid < running.oldest
    ORDER BY e.xid DESC, e.arrival DESC
    LIMIT 1
) AS last ON TRUE

-- name: insert (sqlite)
INSERT INTO events
    (arrival, id, type, source, sender, subject, content, data, priority, created_at,
     ref_type, ref_id, route_channel, route_session, hops, trust, occurred_at, dedup_key)
VALUES
    (:arrival, :id, :type, :source, :sender, :subject, :content, :data, :priority, :created_at,
     :ref_type, :ref_id, :route_channel, :route_session, :hops, :trust, :occurred_at, :dedup_key)

-- name: insert (postgres)
INSERT INTO events
    (arrival, id, type, source, sender, subject, content, data, priority, created_at,
     ref_type, ref_id, route_channel, route_session, hops, trust, occurred_at, dedup_key)
SELECT * FROM unnest(
    :arrival::bigint[], :id::text[], :type::text[], :source::text[], :sender::bigint[], :subject::text[],
    :content::text[], :data::text[], :priority::smallint[], :created_at::bigint[],
    :ref_type::text[], :ref_id::text[], :route_channel::text[], :route_session::text[], :hops::smallint[],
    :trust::text[], :occurred_at::bigint[], :dedup_key::text[]
)

-- name: read_hops
SELECT id, hops FROM events WHERE id IN :ids[] AND created_at > :since

-- name: lock
SELECT arrival FROM events WHERE arrival IN :arrivals[] ORDER BY arrival FOR UPDATE

-- name: reap
-- Those of these events that have no items any more.
DELETE FROM events
WHERE arrival IN :arrivals[]
    AND NOT EXISTS (SELECT 1 FROM pending i WHERE i.arrival = events.arrival)
    AND NOT EXISTS (SELECT 1 FROM past i WHERE i.arrival = events.arrival)
    AND NOT EXISTS (SELECT 1 FROM broadcasts b WHERE b.arrival = events.arrival)
