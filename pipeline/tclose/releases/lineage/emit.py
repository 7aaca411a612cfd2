"""Emission of lineage events to the listeners of OpenLineage's own settings: a file or a server.

The settings are those of every OpenLineage client: ``OPENLINEAGE_URL`` (and
``OPENLINEAGE_API_KEY``), ``OPENLINEAGE_CONFIG``, or ``OPENLINEAGE__TRANSPORT__...``.
"""

import logging
import os
from collections.abc import Iterable
from typing import Any

ASKING = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG", "OPENLINEAGE__TRANSPORT")


def is_configured() -> bool:
    """Return whether the environment configures a listener; without one, the client would print."""
    return any(name.startswith(ASKING) for name, value in os.environ.items() if value)


def emit_events(events: Iterable[Any]) -> str:
    """Emit events in order; return why that failed, or nothing, as no release fails over it."""
    from openlineage.client import OpenLineageClient

    # The client would log failures itself, at length.
    logging.getLogger("openlineage").setLevel(logging.CRITICAL)
    try:
        client = OpenLineageClient()
        for event in events:
            client.emit(event)
    except Exception as error:
        return (
            f"lineage: events were not emitted ({type(error).__name__}); see the settings of "
            "OpenLineage in the environment; the events are kept with the release"
        )
    return ""
