"""The path of the records: summarise, plan, encode, microaggregate, verify, publish."""
