UPDATE gates SET ended_at = :now WHERE number = :number
