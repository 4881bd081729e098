UPDATE goals SET description = :description, status = :status, priority = :priority, updated_at = :now
WHERE number = :number
