SELECT number FROM plans WHERE id = :id FOR UPDATE
