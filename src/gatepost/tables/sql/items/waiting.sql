-- How many wait, counted up to a bound so that the cost does not grow with them.
SELECT count(*)
FROM (
    SELECT 1 AS waiting
    FROM items
    WHERE recipient = :recipient AND state = 'pending' AND (expires_at IS NULL OR expires_at > :now)
    LIMIT :most
) AS counted
