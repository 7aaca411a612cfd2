"""Prefect's part: thin tasks, and flows that read like a recipe.

Prefect reads its environment when it is imported, so what tclose prefers is set here, before any
module of this package imports it. Where it is imported already, as in a worker that runs a
deployment, the settings are its own affair.
"""

import os
import sys
from collections.abc import Mapping

_QUIET: Mapping[str, str] = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "NO_PROXY": "127.0.0.1,localhost",  # the embedded server is not behind a proxy
}
LOGS_TO_TERMINAL = "PREFECT_LOGGING_LEVEL" in os.environ
if "prefect" not in sys.modules:
    for _name, _value in _QUIET.items():
        os.environ.setdefault(_name, _value)
