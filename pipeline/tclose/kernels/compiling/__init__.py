"""What numba does with a kernel, replaced where it does too much; parts are linked."""
