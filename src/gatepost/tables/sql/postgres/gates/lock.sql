SELECT number FROM gates WHERE id = :id FOR UPDATE
