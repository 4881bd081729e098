-- The last call that was waited for has been answered, or has run out of time.
UPDATE runs SET status = 'completed'
WHERE number = :number AND status = 'waiting_tool'
    AND NOT EXISTS (SELECT 1 FROM calls c WHERE c.run = runs.number AND c.status = 'pending')
