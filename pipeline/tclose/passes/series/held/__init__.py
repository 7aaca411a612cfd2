"""Records of persons who left a series, held until enough of their cell have left."""
