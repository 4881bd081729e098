UPDATE items SET state = 'pending', claim = NULL WHERE claim = :claim AND state = 'claimed'
