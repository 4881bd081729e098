UPDATE gates SET deadline = :deadline WHERE number = :number
