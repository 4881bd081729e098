-- What a claim on an inbox has to know first: the run that has the inbox, whether a drain took too long, and the last
-- broadcast.
SELECT
    (SELECT owner FROM claims WHERE recipient = :recipient AND ended_at IS NULL AND kind = 'run' LIMIT 1),
    EXISTS (
        SELECT 1
        FROM claims
        WHERE recipient = :recipient AND ended_at IS NULL
            AND (deadline <= :now OR (deadline IS NOT NULL AND taken_at > :future))
    ),
    (SELECT coalesce(max(number), 0) FROM broadcasts)
