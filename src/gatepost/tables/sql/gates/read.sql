SELECT * FROM gatehouse WHERE id = :id
