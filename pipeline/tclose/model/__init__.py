"""Words and values that all layers share: columns, distributions, verdicts, registered settings."""
