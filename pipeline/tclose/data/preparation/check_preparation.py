"""Refusals of a preparation that contradicts itself."""

from itertools import pairwise

from tclose.model.preparation import Preparation


def check_preparation(preparation: Preparation) -> None:
    """Refuse bounds, steps and bands that do not go together.

    Raises
    ------
    ValueError
    """
    bottom, top, step = preparation.bottom, preparation.top, preparation.step
    if preparation.bands:
        if not (bottom is None and top is None and step is None):
            raise ValueError("bands stand for round, bottom and top; take these out")
        if any(a >= b for a, b in pairwise(preparation.bands)):
            raise ValueError("bands have to ascend, each end once")
    if step is not None and step <= 0:
        raise ValueError("round has to be above 0: values are rounded to its multiples")
    if bottom is not None and top is not None and bottom >= top:
        raise ValueError("bottom has to be below top")
    low, high = preparation.bottom_percentile, preparation.top_percentile
    if low is not None and high is not None and low >= high:
        raise ValueError("the percentile of bottom has to be below that of top")
    if preparation.bands and (low is not None or high is not None):
        raise ValueError("bands stand for round, bottom and top; take these out")
    for key, bound in (("bottom", bottom), ("top", top)):
        if step is not None and bound is not None and bound % step:
            raise ValueError(f"{key} has to be a multiple of round")
