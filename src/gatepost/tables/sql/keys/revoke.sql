UPDATE keys SET revoked_at = :now WHERE number = :number AND revoked_at IS NULL
