"""Who else is told of a run: whom OpenLineage's own settings name, be it a file or a server.

The settings are those of every OpenLineage client: ``OPENLINEAGE_URL`` (and
``OPENLINEAGE_API_KEY``), ``OPENLINEAGE_CONFIG``, or ``OPENLINEAGE__TRANSPORT__...``.
"""

import logging
import os
from collections.abc import Iterable
from typing import Any

ASKING = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG", "OPENLINEAGE__TRANSPORT")


def is_configured() -> bool:
    """Whether the environment names somebody. Without, the client would print events."""
    return any(name.startswith(ASKING) for name, value in os.environ.items() if value)


def tell(events: Iterable[Any]) -> str:
    """Tell of events, in order; why that failed, or nothing. A release does not fail over it."""
    from openlineage.client import OpenLineageClient

    # It would tell of failures itself, at length.
    logging.getLogger("openlineage").setLevel(logging.CRITICAL)
    try:
        client = OpenLineageClient()
        for event in events:
            client.emit(event)
    except Exception as error:
        return (
            f"lineage: nobody was told ({type(error).__name__}); see the settings of OpenLineage "
            "in the environment; the events are kept with the release"
        )
    return ""
