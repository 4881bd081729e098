UPDATE plans SET next_at = CAST(:next_at AS BIGINT)
WHERE number = :number AND status = 'pending' AND next_at = :old AND next_at > CAST(:next_at AS BIGINT)
