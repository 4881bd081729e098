UPDATE gates SET look_at = :now WHERE ended_at IS NULL AND look_at > :now
