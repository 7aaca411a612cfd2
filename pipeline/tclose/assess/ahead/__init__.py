"""What a release is expected to be before it is made: releases of a sample, which nobody sees."""
