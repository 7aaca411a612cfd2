"""The loss and the price of `suppress` that `tclose plan` estimates, beside those of whole tables.

``python -m benchmarks.loss.planned_price POLICY [KEY=VALUE ...] [--sample N]``

Both are estimated from N records, and from all: that is what releases of the whole table lose. The
price is told in shares of what one class of the kept records loses, so not with losses: absolute.
"""

import argparse
import sys
from collections.abc import Sequence

from benchmarks.results import render_table
from tclose.assess.ahead.expected_losses import SAMPLED
from tclose.assess.ahead.plan_ahead import plan_ahead
from tclose.policy.policy import load_policy
from tclose.runtime.monitoring.progress import Progress

WHOLE = 2**40  # records, more than there are
HEAD = ("records", "expected loss", "of the sample", "left out", "without", "with", "change")


def describe_price(path: str, overrides: Sequence[str], n_sampled: int) -> list[str]:
    """Return a row of the table: what a plan says from about so many records."""
    document, _, _ = plan_ahead(load_policy(path, overrides), Progress("none"), n_sampled)
    loss, suppression = document.expected_loss, document.suppression
    assert loss is not None
    row = [f"{loss.sampled:,}", f"{loss.total:.3g}", f"{loss.of_sample:.3g}"]
    price = None if suppression is None else suppression.price
    if suppression is None or price is None:
        return [*row, "-", "-", "-", "-"]
    without, whole = (
        sum(shares.values()) / len(shares)
        for shares in (price.of_one_class, price.of_one_class_with_all)
    )
    shown = f"{without:.2%}", f"{whole:.2%}", f"{without / whole - 1:+.0%}"
    return [*row, f"{suppression.left_out:,}", *shown]


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loss.planned_price")
    parser.add_argument("policy")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE")
    parser.add_argument("--sample", type=int, default=SAMPLED)
    given = parser.parse_args(arguments)
    sizes = given.sample, WHOLE
    rows = [describe_price(given.policy, given.overrides, size) for size in sizes]
    print(render_table(HEAD, rows))


if __name__ == "__main__":
    main(sys.argv[1:])
