"""Full-domain generalisation (LeFevre et al. 2005)."""
