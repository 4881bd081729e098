SELECT number, run, summaries, dropped FROM minds WHERE number = :number
