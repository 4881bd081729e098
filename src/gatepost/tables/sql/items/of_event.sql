-- What all of them have in common is told once, with the first: it may be much, and they may be many.
SELECT
    recipient, arrival, recipient_name, id, type, source, sender_name, sender_display, sender_kind, subject,
    CASE WHEN row_number() OVER (ORDER BY recipient) = 1 THEN content END,
    CASE WHEN row_number() OVER (ORDER BY recipient) = 1 THEN data END,
    priority, dedup_key, created_at, expires_at, ref_type, ref_id, route_channel, route_session, hops, trust, wakes,
    state, attempts, seen_at, ended_at, claim_kind, claim_owner, claim_at, occurred_at
FROM inbox
WHERE id = :event AND (CAST(:recipient AS BIGINT) IS NULL OR recipient = CAST(:recipient AS BIGINT))
ORDER BY recipient
