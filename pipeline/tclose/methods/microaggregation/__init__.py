"""Microaggregation: classes of near records, each released as one aggregate."""
