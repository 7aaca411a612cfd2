"""One root error; messages name the place, the limit and the remedy, never a record's values."""


class TcloseError(Exception):
    """Whatever tclose refuses or fails at; ``exit_code`` is the command's exit status."""

    exit_code = 1


class UsageError(TcloseError):
    """The command was called in a way that has no meaning."""

    exit_code = 2


class PolicyError(TcloseError):
    """The policy is not well formed, or contradicts itself."""

    exit_code = 2


class DataError(TcloseError):
    """The microdata do not have the form that the policy says."""

    exit_code = 2


class OutputError(TcloseError):
    """The place of the output cannot be written or read."""

    exit_code = 2


class InfeasibleError(TcloseError):
    """No release of these records meets the policy; the message gives the proof."""

    exit_code = 3


class VerificationError(TcloseError):
    """A table was built, or published, that does not meet what was promised."""

    exit_code = 3


class BusyError(TcloseError):
    """Another run holds the claim on this release."""


class UnitError(TcloseError):
    """A unit of work stopped for a reason that was not foreseen.

    The cause is given by type and place alone: its own words could hold a record's values.
    """
