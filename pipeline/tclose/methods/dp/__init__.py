"""Differentially private noise on confidential values."""
