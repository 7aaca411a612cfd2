"""Earth mover's distances, and what a change of a class does to them."""
