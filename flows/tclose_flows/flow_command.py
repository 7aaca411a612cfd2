"""The command ``tclose flow``: the flow, run here and now."""

import contextlib
from typing import cast

from prefect.settings import PREFECT_API_URL

from tclose.errors import TaskError, TcloseError
from tclose.policy.policy import Policy
from tclose.runtime.monitoring.progress import Progress, default_style
from tclose.runtime.run import Outcome
from tclose_flows import LOGS_TO_TERMINAL
from tclose_flows.embedded_server import serving_this_run
from tclose_flows.flow_interrupts import check_interrupted, remembering_interrupts
from tclose_flows.pages.run_log import keep_lines_off_the_terminal
from tclose_flows.release_flow import release


def run_flow(policy: Policy, quiet: bool) -> Outcome:
    """Run the flow: on the server of PREFECT_API_URL, or on an embedded one.

    Whoever calls it is there to call it again, so nothing is tried twice.

    Prefect's home stays what it is for every other flow of the user (``~/.prefect``, or
    ``PREFECT_HOME``): profiles hold, and runs on the embedded server are there to be looked at with
    ``prefect server start``.

    Raises
    ------
    TcloseError
        As ``run_release`` does.
    TaskError
        Prefect itself could not run the flow.
    """
    if not LOGS_TO_TERMINAL:  # the caller tells of errors; the server keeps the log
        keep_lines_off_the_terminal()
    Progress(default_style(quiet)).info("starting Prefect")
    try:
        with remembering_interrupts(), _server():
            outcome = cast(Outcome, release(policy, retries=0, quiet=quiet))
            check_interrupted()
            return outcome
    except TcloseError as error:
        raise error.whole from None
    except Exception as error:
        raise TaskError(
            f"Prefect could not run the flow ({type(error).__name__}); see that a server answers "
            "at PREFECT_API_URL, or unset it and give a PREFECT_HOME that can be written; "
            "`tclose run` does the same without Prefect"
        ) from None


def _server() -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext() if PREFECT_API_URL.value() else serving_this_run()
