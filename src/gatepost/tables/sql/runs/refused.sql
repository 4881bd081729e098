UPDATE runs SET refusals = refusals + 1 WHERE number = :number RETURNING refusals
