SELECT number, tokens, summary
FROM runs
WHERE agent = :agent AND number > :after AND status IN ('waiting_tool', 'completed')
ORDER BY number
