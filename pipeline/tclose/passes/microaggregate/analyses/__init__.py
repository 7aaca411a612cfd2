"""What analysts do with a release, tried on the records and on what is released for them."""
