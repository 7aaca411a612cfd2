"""Prefect's part: thin tasks, and flows that read like a recipe.

Prefect reads its environment when it is imported, so what tclose prefers is set here, before any
module of this package imports it. Where it is imported already, as in a worker that runs a
deployment, the settings are its own affair.
"""

import os
import sys
import warnings

from tclose_flows.prefect_environment import drop_empty_settings, set_preferences

_IS_FIRST = "prefect" not in sys.modules
if _IS_FIRST:
    drop_empty_settings(os.environ)
LOGS_TO_TERMINAL = "PREFECT_LOGGING_LEVEL" in os.environ
if _IS_FIRST:
    set_preferences(os.environ)
    # Its remedy is in the error of a run that needs the folder; a run on another server does not.
    warnings.filterwarnings("ignore", "Failed to create the Prefect home directory", UserWarning)
