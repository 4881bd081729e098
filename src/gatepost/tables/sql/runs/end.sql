-- A run that still waits for somebody outside is not completed yet.
UPDATE runs SET
    status = CASE
        WHEN :status = 'completed' AND EXISTS (SELECT 1 FROM calls c WHERE c.run = runs.number AND c.status = 'pending')
        THEN 'waiting_tool' ELSE :status
    END,
    summary = :summary, error = :error, limit_reached = :limit, ended_at = :now
WHERE number = :number AND status = 'running'
RETURNING tokens
