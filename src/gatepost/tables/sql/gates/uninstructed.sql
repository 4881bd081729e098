-- Pending gates whose owner itself can do something about them, and that have not said so yet.
SELECT number
FROM gates
WHERE owner = :owner AND ended_at IS NULL AND instructed_at IS NULL
    AND (kind = 'command' OR (kind = 'human' AND awaited = owner))
