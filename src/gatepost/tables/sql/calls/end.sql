UPDATE calls SET status = :status, result = :result, ended_at = :now WHERE id = :id AND status = 'pending'
