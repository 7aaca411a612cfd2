"""The ``engine`` section of a policy: what the passes run on. It decides no byte of the data."""

import re
from typing import Annotated, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from tclose.model.setting_fields import REAL, WHOLE, Folder, refuse_truth
from tclose.policy import warning_kinds

LOCAL = "local"
KUBERNETES = "kubernetes"
# A worker holds 150 MB before it has read a record, and one that is above its limit by then is
# ended and started anew for ever.
LEAST_MEMORY = 256_000_000

_File = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*$")]
# What a DNS label may be, less what the Dask operator and a run append to it.
_Label = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$")]
_Workers = Annotated[Annotated[int, Field(ge=1)] | Literal["auto"], BeforeValidator(refuse_truth)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TlsSettings(_Section):
    """Certificates for an existing scheduler; without them Dask's own configuration holds."""

    ca: _File = Field(
        description="PEM file of the authority that signed the cluster's own.", examples=["ca.pem"]
    )
    cert: _File = Field(
        description="PEM file of this client's certificate.", examples=["client.pem"]
    )
    key: _File = Field(
        description="PEM file of its key, without a passphrase.", examples=["client-key.pem"]
    )


class KubernetesSettings(_Section):
    """A cluster of the Dask operator, found by its service's name."""

    cluster: _Label = Field(default="tclose", description="Name of the DaskCluster.")
    namespace: _Label = Field(default="tclose", description="Where it is.")
    port: Annotated[int, Field(ge=1, le=65_535), WHOLE] = Field(
        default=8786, description="Of its scheduler."
    )
    manifest: _File | None = Field(
        default=None,
        description="File of a DaskCluster to make for each run and to remove after it.",
        examples=["deploy/kubernetes/dask-cluster.yaml"],
    )


class EngineSettings(_Section):
    """The engine that the passes run on; it has no influence on a byte of the data."""

    scheduler: str = Field(
        default=LOCAL,
        pattern=r"^(local|kubernetes|(tcp|tls)://\S+:\d{1,5})$",
        description="local, kubernetes, or an address as in tls://host:8786.",
    )
    tls: TlsSettings | None = Field(
        default=None, description="PEM files for a tls:// scheduler; else Dask's configuration."
    )
    kubernetes: KubernetesSettings = KubernetesSettings()
    workers: _Workers = Field(default="auto", description="Processes of a local cluster.")
    work_path: Folder | None = Field(
        default=None,
        description="Folder for the private working files of a run, which all workers share; "
        "beside the releases by default, in the user's cache if these are in s3://.",
        examples=["/var/lib/tclose/work"],
    )
    key_path: _File | None = Field(
        default=None,
        description="File of the 32 bytes that persons are hashed with in registers and sketches; "
        "by default the one that TCLOSE_REGISTER_KEY names, or else the release key.",
        examples=["/run/secrets/register-key"],
    )
    lease_seconds: Annotated[float, Field(ge=1, le=86_400), REAL] = Field(
        default=60,
        validation_alias=AliasChoices("lease_seconds", "claim_expiry"),  # the latter: 0.1.0
        description="Seconds after which the lease of a run that stopped renewing it expires.",
    )
    memory_per_worker: (
        Annotated[str, Field(pattern=r"^\d+(\.\d+)? ?[kKmMgGtT][iI]?[bB]$")] | Literal["auto"]
    ) = Field(
        default="auto", description="Of a local cluster; at least 256MB.", examples=["2GB", "auto"]
    )

    strict: bool = Field(
        default=False, description="true: a run with numbered warnings is refused."
    )
    accepted_warnings: tuple[str, ...] = Field(
        default=(),
        description="Numbers of warnings that a strict run is not refused for.",
        examples=[[warning_kinds.NEARLY_DISTINCT.code]],
    )

    @field_validator("memory_per_worker")
    @classmethod
    def _check_memory(cls, size: str) -> str:
        n_bytes = _read_size(size)
        if n_bytes is not None and n_bytes < LEAST_MEMORY:
            raise ValueError(
                "is less than a worker holds before it has read a record; give it "
                f"{LEAST_MEMORY // 1_000_000}MB or more"
            )
        return size

    @field_validator("accepted_warnings")
    @classmethod
    def _check_numbers(cls, codes: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [code for code in codes if code not in warning_kinds.KINDS]
        if unknown:
            first, *_, last = warning_kinds.KINDS
            raise ValueError(
                f"has no warning's number in place {codes.index(unknown[0]) + 1}; "
                f"they are {first} to {last}"
            )
        return codes

    @model_validator(mode="after")
    def _check_encryption(self) -> "EngineSettings":
        if self.tls is not None and self.scheduler.startswith("tcp://"):
            raise ValueError("tcp:// is not encrypted, and tls is given; write tls://")
        if self.tls is not None and self.scheduler == LOCAL:
            raise ValueError(
                "tls is of another scheduler, and scheduler is local; give its address, or take "
                "tls out (null)"
            )
        if self.kubernetes.manifest is not None and self.scheduler != KUBERNETES:
            raise ValueError(
                "kubernetes.manifest goes with scheduler: kubernetes; give that, or take manifest "
                "out (null)"
            )
        return self

    @property
    def memory_bytes(self) -> int | None:
        """Bytes that a worker is limited to; None for auto."""
        return _read_size(self.memory_per_worker)


def _read_size(text: str) -> int | None:
    """Bytes of a size as in 2GB or 1.5 GiB; None for auto."""
    size = re.fullmatch(r"([\d.]+) ?([kmgt])(i?)b", text.lower())
    if size is None:
        return None
    number, unit, is_binary = size.groups()
    return int(float(number) * (1024 if is_binary else 1000) ** ("kmgt".index(unit) + 1))
