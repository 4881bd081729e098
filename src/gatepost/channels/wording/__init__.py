"""What the payload of a webhook says, in one line of plain words."""
