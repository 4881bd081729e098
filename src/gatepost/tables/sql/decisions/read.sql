SELECT * FROM questions WHERE id = :id
