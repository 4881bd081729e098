-- The limits at which the cycles before a run ended, the newest first; a budget counts for nothing here.
SELECT limit_reached
FROM runs
WHERE agent = :agent AND number < :before AND status IN ('waiting_tool', 'completed', 'skipped')
    AND coalesce(limit_reached, '') <> 'budget'
ORDER BY number DESC
LIMIT :most
