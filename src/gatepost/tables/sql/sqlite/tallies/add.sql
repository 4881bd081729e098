INSERT INTO tallies (recipient, accepted, delivered, expired, discarded)
VALUES (:recipient, :accepted, :delivered, :expired, :discarded)
ON CONFLICT (recipient) DO UPDATE SET
    accepted = accepted + excluded.accepted,
    delivered = delivered + excluded.delivered,
    expired = expired + excluded.expired,
    discarded = discarded + excluded.discarded
