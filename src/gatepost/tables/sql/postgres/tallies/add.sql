INSERT INTO tallies (recipient, accepted, delivered, expired, discarded)
SELECT * FROM unnest(:recipient::bigint[], :accepted::bigint[], :delivered::bigint[], :expired::bigint[], :discarded::bigint[])
ON CONFLICT (recipient) DO UPDATE SET
    accepted = tallies.accepted + excluded.accepted,
    delivered = tallies.delivered + excluded.delivered,
    expired = tallies.expired + excluded.expired,
    discarded = tallies.discarded + excluded.discarded
