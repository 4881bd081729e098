UPDATE entities SET created_at = :created_at, retired_at = CAST(:retired_at AS BIGINT) WHERE number = :number
