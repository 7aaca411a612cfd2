"""The result of an audit, for the commands and the Python API."""

from collections.abc import Sequence
from typing import Self

from pydantic import ConfigDict, Field

from tclose.releases.manifest.originals_section import OriginalsResult
from tclose.releases.manifest.privacy_sections import NoiseResult, Privacy
from tclose.releases.manifest.sections import ClassesSection, Count, RiskSection, Section


class SignatureResult(Section):
    """The signature of the manifest."""

    key_id: str
    valid: bool | None
    """None: not checked, as no public key was given."""


class AuditResult(Section):
    """The result of auditing the files of a release.

    What has the default None is missing where the rows were not checked, or nobody asked for it.
    """

    model_config = ConfigDict(extra="forbid")

    release: str
    """The folder of the release."""
    findings: list[str] = Field(default_factory=list)
    """The faults found; empty if there are none."""
    checked: bool = False
    """True if the rows could be read."""
    notes: list[str] = Field(default_factory=list)
    """Notes that are no faults."""
    signature: SignatureResult | None = None
    records: Count | None = None
    privacy: Privacy | None = None
    """The parameters asked for, and the measures of the rows."""
    classes: ClassesSection | None = None
    risk: RiskSection | None = None
    noise: dict[str, NoiseResult] | None = None
    originals: OriginalsResult | None = None

    @property
    def passed(self) -> bool:
        """True if the rows could be checked, and there are no findings."""
        return self.checked and not self.findings

    def without_note(self, note: str, *others: str) -> Self:
        """The result without a note, if it has it, and with others in its place."""
        if note not in self.notes:
            return self
        notes = [one for text in self.notes for one in (others if text == note else (text,))]
        return self.model_copy(update={"notes": notes})

    def extended(
        self, findings: Sequence[str] = (), notes: Sequence[str] = (), **more: object
    ) -> Self:
        """The result with further findings, notes and other keys."""
        extended = {"findings": [*self.findings, *findings], "notes": [*self.notes, *notes]}
        return self.model_copy(update=extended | more)
