UPDATE gates SET trouble = :trouble, escalated_at = :escalated_at, ended_at = :ended_at WHERE number = :number
