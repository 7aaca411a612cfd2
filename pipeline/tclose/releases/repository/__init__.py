"""The repository of one name: where its releases are, what they contain, who may write to it."""
