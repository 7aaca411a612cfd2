"""What intruders learn from releases beyond what k and t allow for."""
