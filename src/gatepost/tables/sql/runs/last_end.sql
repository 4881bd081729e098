SELECT ended_at
FROM runs
WHERE agent = :agent AND status IN ('waiting_tool', 'completed')
ORDER BY number DESC
LIMIT 1
