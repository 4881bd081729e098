"""What runs have used, and what is left of budgets."""
