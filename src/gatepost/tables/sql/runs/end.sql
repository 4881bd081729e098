UPDATE runs SET status = :status, summary = :summary, error = :error, ended_at = :now
WHERE number = :number AND status = 'running'
