UPDATE sessions SET hops = :hops, seen_at = :now WHERE id = :id
