"""What is asked: a YAML file becomes a frozen, validated policy."""
