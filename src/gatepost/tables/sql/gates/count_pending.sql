SELECT count(*) FROM (SELECT 1 FROM gates WHERE owner = :owner AND ended_at IS NULL LIMIT :limit) AS pending
