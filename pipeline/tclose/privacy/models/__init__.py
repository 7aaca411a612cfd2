"""The privacy models that a policy can ask for beside k and t: a module registers each."""
