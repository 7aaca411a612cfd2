"""The privacy models that a policy can ask for besides k and t: a module registers each."""
