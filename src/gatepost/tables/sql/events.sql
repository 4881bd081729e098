-- name: here (sqlite)
-- The last place of which everything up to it is there, the first that nobody can have yet, and whether more is held back.
SELECT
    0 AS last_transaction, value AS last_arrival, 0 AS end_transaction, value + 1 AS end_arrival, FALSE AS has_more
FROM counters
WHERE name = 'arrival'

-- name: here (postgres)
-- The last place of which everything up to it is there: that of an event, because the number of a transaction that stored
-- nothing may be given again after a crash. Then the first that nobody can have yet, and whether more is held back: events
-- that are visible, but not yet all that may come to lie before them.
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
     ref_type, ref_id, route_channel, route_session, hops, trust, occurred_at)
VALUES
    (:arrival, :id, :type, :source, :sender, :subject, :content, :data, :priority, :created_at,
     :ref_type, :ref_id, :route_channel, :route_session, :hops, :trust, :occurred_at)

-- name: insert (postgres)
INSERT INTO events
    (arrival, id, type, source, sender, subject, content, data, priority, created_at,
     ref_type, ref_id, route_channel, route_session, hops, trust, occurred_at)
SELECT * FROM unnest(
    :arrival::bigint[], :id::text[], :type::text[], :source::text[], :sender::bigint[], :subject::text[],
    :content::text[], :data::text[], :priority::smallint[], :created_at::bigint[],
    :ref_type::text[], :ref_id::text[], :route_channel::text[], :route_session::text[], :hops::smallint[], :trust::text[],
    :occurred_at::bigint[]
)

-- name: lock
SELECT arrival FROM events WHERE arrival IN :arrivals[] ORDER BY arrival FOR UPDATE

-- name: reap
-- Of these events, those that nobody has any more.
DELETE FROM events
WHERE arrival IN :arrivals[]
    AND NOT EXISTS (SELECT 1 FROM items i WHERE i.arrival = events.arrival)
    AND NOT EXISTS (SELECT 1 FROM broadcasts b WHERE b.arrival = events.arrival)
