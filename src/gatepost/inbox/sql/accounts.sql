-- name: read
-- The accounts of one recipient, or of all. It is one statement, so that both sides are of the same moment.
SELECT
    e.name,
    coalesce(t.accepted, 0) AS accepted,
    CAST(coalesce(sum(CASE WHEN i.state = 'pending' THEN i.items END), 0) AS BIGINT) AS pending,
    CAST(coalesce(sum(CASE WHEN i.state = 'claimed' THEN i.items END), 0) AS BIGINT) AS claimed,
    CAST(
        coalesce(sum(CASE WHEN i.state = 'delivered' THEN i.items END), 0) + coalesce(max(t.delivered), 0) AS BIGINT
    ) AS delivered,
    CAST(
        coalesce(sum(CASE WHEN i.state = 'expired' THEN i.items END), 0) + coalesce(max(t.expired), 0) AS BIGINT
    ) AS expired,
    CAST(coalesce(sum(CASE WHEN i.state = 'dead' THEN i.items END), 0) AS BIGINT) AS dead,
    CAST(
        coalesce(sum(CASE WHEN i.state = 'discarded' THEN i.items END), 0) + coalesce(max(t.discarded), 0) AS BIGINT
    ) AS discarded,
    CAST(coalesce(max(i.hidden), 0) AS BIGINT) AS hidden
FROM entities e
LEFT JOIN accounts t ON t.recipient = e.number
LEFT JOIN (
    SELECT
        recipient, state, count(*) AS items,
        sum(CASE WHEN state = 'pending' AND hidden_until > :now THEN 1 ELSE 0 END) AS hidden
    FROM items
    WHERE CAST(:recipient AS BIGINT) IS NULL OR recipient = CAST(:recipient AS BIGINT)
    GROUP BY recipient, state
) i ON i.recipient = e.number
WHERE CAST(:recipient AS BIGINT) IS NULL OR e.number = CAST(:recipient AS BIGINT)
GROUP BY e.number, e.name, t.accepted
ORDER BY e.number

-- name: add (sqlite)
INSERT INTO accounts (recipient, accepted, delivered, expired, discarded)
VALUES (:recipient, :accepted, :delivered, :expired, :discarded)
ON CONFLICT (recipient) DO UPDATE SET
    accepted = accepted + excluded.accepted,
    delivered = delivered + excluded.delivered,
    expired = expired + excluded.expired,
    discarded = discarded + excluded.discarded

-- name: add (postgres)
INSERT INTO accounts (recipient, accepted, delivered, expired, discarded)
SELECT * FROM unnest(
    :recipient::bigint[], :accepted::bigint[], :delivered::bigint[], :expired::bigint[], :discarded::bigint[]
)
ON CONFLICT (recipient) DO UPDATE SET
    accepted = accounts.accepted + excluded.accepted,
    delivered = accounts.delivered + excluded.delivered,
    expired = accounts.expired + excluded.expired,
    discarded = accounts.discarded + excluded.discarded
