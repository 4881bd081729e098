UPDATE entities SET
    display = :display, team = CAST(:team AS TEXT), role = CAST(:role AS TEXT), owner = CAST(:owner AS BIGINT)
WHERE number = :number
