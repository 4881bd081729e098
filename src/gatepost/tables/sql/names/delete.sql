DELETE FROM names WHERE name = :name AND entity = :entity AND is_alias
