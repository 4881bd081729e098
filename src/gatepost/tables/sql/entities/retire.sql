UPDATE entities SET retired_at = :now WHERE number = :number AND retired_at IS NULL
