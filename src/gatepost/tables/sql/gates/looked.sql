UPDATE gates SET trouble = :trouble, look_at = :look_at WHERE number = :number
