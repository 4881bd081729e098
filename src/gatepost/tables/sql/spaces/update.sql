UPDATE spaces SET name = :name, archived_at = CAST(:archived_at AS BIGINT) WHERE number = :number
