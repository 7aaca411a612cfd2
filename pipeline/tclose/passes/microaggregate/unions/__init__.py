"""Classes of a series: units stay together, and classes that persons left are united."""
