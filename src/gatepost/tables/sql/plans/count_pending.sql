SELECT count(*) FROM (SELECT 1 FROM plans WHERE owner = :owner AND status = 'pending' LIMIT :limit) AS pending
