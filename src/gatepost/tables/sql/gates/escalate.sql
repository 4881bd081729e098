UPDATE gates SET escalated_at = :now WHERE number = :number
