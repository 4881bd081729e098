UPDATE items SET claim = :claim WHERE recipient = :recipient AND arrival = :arrival
