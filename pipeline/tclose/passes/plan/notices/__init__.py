"""What is said before the work begins: time, memory, earlier releases."""
