"""The policy: a YAML file, parsed to a frozen, validated value."""
