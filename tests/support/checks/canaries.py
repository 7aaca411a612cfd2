"""Values that must not leave."""

CANARY_ID = "CANARY-IDENTIFIER-7f3a"
CANARY_PLACE = "canary-quasi-identifier-c41d"
CANARY_AGE = 73_141_592
CANARY_CHARGE = 918_273_645.25
