"""What classes can be held to and measured by, beside k and t; and attacks on them."""
