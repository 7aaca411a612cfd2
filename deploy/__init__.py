"""How tclose is run for real; what is Python here serves ``make stack``, and is in no wheel."""
