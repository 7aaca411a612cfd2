"""What is timed, against what, and the tables it prints."""
