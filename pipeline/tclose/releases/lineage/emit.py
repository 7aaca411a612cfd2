"""Emission of lineage events to the listeners of OpenLineage's own settings: a file or a server.

The settings are those of every OpenLineage client: ``OPENLINEAGE_URL`` (and
``OPENLINEAGE_API_KEY``), ``OPENLINEAGE_CONFIG``, or ``OPENLINEAGE__TRANSPORT__...``. A file of the
working folder is none: others may have put it there, to have events sent to them.
"""

import logging
import os
from collections.abc import Iterable
from pathlib import Path
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

    class Client(OpenLineageClient):
        @staticmethod
        def _find_yaml_config_path() -> str | None:
            named = os.environ.get("OPENLINEAGE_CONFIG")
            usual = Path("~/.openlineage/openlineage.yml").expanduser()
            paths = [str(path) for path in (named, usual) if path and Path(path).is_file()]
            return next(iter(paths), None)

    try:
        client = Client()
        for event in events:
            client.emit(event)
    except Exception as error:
        return (
            f"lineage: events were not emitted ({type(error).__name__}); see the settings of "
            "OpenLineage in the environment; the events are kept with the release"
        )
    return ""
