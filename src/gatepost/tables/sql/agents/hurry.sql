UPDATE agents SET rest_until = :now WHERE rest_until > :now
