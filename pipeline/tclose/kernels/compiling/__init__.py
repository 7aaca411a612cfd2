"""Steps of numba's compiler, replaced where they do too much; parts are linked."""
