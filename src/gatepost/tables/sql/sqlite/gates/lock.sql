SELECT number FROM gates WHERE id = :id
