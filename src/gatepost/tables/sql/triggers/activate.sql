UPDATE triggers SET active = :active WHERE number = :number
