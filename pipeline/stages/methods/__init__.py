"""How classes are made, beside t-closeness-first microaggregation: the methods of the papers."""
