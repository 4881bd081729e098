UPDATE items SET state = 'delivered', ended_at = :now WHERE claim = :claim AND state = 'claimed'
