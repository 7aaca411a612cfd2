"""The motivated intruder: attacks of an independent library, with records kept out of a release."""
