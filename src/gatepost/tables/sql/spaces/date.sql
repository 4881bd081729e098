UPDATE spaces SET created_at = :created_at, archived_at = CAST(:archived_at AS BIGINT) WHERE number = :number
