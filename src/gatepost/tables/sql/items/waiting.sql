-- How many wait, counted up to a bound so that the cost does not grow with them. Every priority is over -1; saying so
-- makes SQLite go by the index of what is pending, however much was delivered.
SELECT count(*)
FROM (
    SELECT 1 AS waiting
    FROM items
    WHERE recipient = :recipient AND state = 'pending' AND priority > -1 AND (expires_at IS NULL OR expires_at > :now)
    LIMIT :most
) AS counted
