"""The search among a region's classes: rounds of exchanges, and pools that are cut anew."""
