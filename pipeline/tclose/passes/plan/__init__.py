"""Class sizes, subsets and regions; what cannot be met is refused."""
