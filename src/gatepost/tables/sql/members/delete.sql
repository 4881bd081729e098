DELETE FROM members WHERE space = :space AND entity = :entity
