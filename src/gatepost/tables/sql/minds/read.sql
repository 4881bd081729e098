SELECT run, summaries, dropped FROM minds WHERE agent = :agent ORDER BY number DESC LIMIT 1
