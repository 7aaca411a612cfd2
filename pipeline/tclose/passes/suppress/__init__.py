"""Records without near ones, which a policy lets be left out before anything is counted."""
