SELECT run, summaries, dropped FROM minds WHERE number = :number
