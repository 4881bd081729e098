UPDATE sessions SET state = :state, seen_at = :now WHERE id = :id
