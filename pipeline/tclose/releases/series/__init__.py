"""Series: releases of the same persons that are held together, and registers of their classes."""
