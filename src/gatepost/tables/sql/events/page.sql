SELECT
    e.arrival, e.id, e.type, e.source, s.name, e.subject, e.content, e.data, e.priority, e.created_at,
    e.ref_type, e.ref_id, e.route_channel, e.route_session, e.hops, e.trust, e.occurred_at
FROM events e
LEFT JOIN entities s ON s.number = e.sender
WHERE e.arrival > :after
ORDER BY e.arrival
LIMIT :most
