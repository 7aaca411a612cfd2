"""Clusters of the Dask operator: found by their service's name, or made for one run.

A cluster that is made is the DaskCluster of a manifest under a name of its own. kr8s asks the API
for it; the operator does the rest. dask-kubernetes' KubeCluster is not used: it speaks to the
scheduler by ``tcp://`` alone, and would wait for a scheduler with TLS for ever.
"""

import contextlib
import logging
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tclose.errors import ClusterError, PolicyError
from tclose.policy.sections.engine_settings import EngineSettings, KubernetesSettings

if TYPE_CHECKING:
    from kr8s.objects import APIObject

_KIND, _VERSION = "DaskCluster", "kubernetes.dask.org/v1"


def service_address(settings: KubernetesSettings, protocol: str) -> str:
    """Address of a cluster's scheduler, as pods see it: the operator names its service so."""
    return f"{protocol}://{settings.cluster}-scheduler.{settings.namespace}:{settings.port}"


def read_cluster_manifest(settings: KubernetesSettings) -> dict[str, Any]:
    """The DaskCluster of the policy's manifest.

    Raises
    ------
    PolicyError
        The file cannot be read or holds no DaskCluster, or kr8s is not installed.
    """
    if settings.manifest is None:
        raise PolicyError("engine.kubernetes.manifest is missing")
    try:
        text = Path(settings.manifest).read_text(encoding="utf-8")
        documents = [d for d in yaml.safe_load_all(text) if isinstance(d, dict)]
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        raise PolicyError(
            f"engine.kubernetes.manifest {settings.manifest}: cannot be read as YAML"
        ) from None
    clusters = [document for document in documents if document.get("kind") == _KIND]
    if len(clusters) != 1 or "worker" not in (clusters[0].get("spec") or {}):
        raise PolicyError(
            f"engine.kubernetes.manifest {settings.manifest}: has to hold one {_KIND} with workers"
        )
    try:
        import kr8s  # noqa: F401
    except ImportError:
        raise PolicyError(
            "engine.kubernetes.manifest: needs kr8s; pip install 'tclose[kubernetes]'"
        ) from None
    return clusters[0]


@contextlib.contextmanager
def cluster_for_run(settings: EngineSettings, protocol: str) -> Iterator[str]:
    """Make the manifest's cluster under a new name; remove it, however the block ends.

    Yields
    ------
    The address at which its scheduler will answer.
    """
    name = f"{settings.kubernetes.cluster}-{secrets.token_hex(3)}"
    document = _rename(
        read_cluster_manifest(settings.kubernetes), name, settings.kubernetes.namespace
    )
    if settings.workers != "auto":
        document["spec"]["worker"]["replicas"] = settings.workers
    cluster = _create(document, settings.kubernetes)
    try:
        named = settings.kubernetes.model_copy(update={"cluster": name})
        yield service_address(named, protocol)
    finally:
        _remove(cluster, name)


def _rename(document: dict[str, Any], name: str, namespace: str) -> dict[str, Any]:
    """The same cluster under another name, which its service selects its scheduler by."""
    metadata = (document.get("metadata") or {}) | {"name": name, "namespace": namespace}
    document = document | {"metadata": metadata}
    with contextlib.suppress(KeyError, TypeError):
        selector = document["spec"]["scheduler"]["service"]["selector"]
        selector["dask.org/cluster-name"] = name
    return document


def _create(document: dict[str, Any], settings: KubernetesSettings) -> "APIObject":
    from kr8s.objects import new_class

    kind = new_class(kind=_KIND, version=_VERSION, namespaced=True, plural="daskclusters")
    try:
        cluster = kind(document, namespace=settings.namespace)
        cluster.create()
    except Exception as error:
        raise ClusterError(
            f"engine.kubernetes: the DaskCluster could not be made in namespace "
            f"{settings.namespace} ({_reason(error)}); see that the Dask operator is installed, "
            "and that this user or service account may create daskclusters there"
        ) from None
    return cluster


def _reason(error: Exception) -> str:
    """The API's status code where there is one; its words may quote the manifest."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    return f"HTTP {status}" if status else type(error).__name__


def _remove(cluster: "APIObject", name: str) -> None:
    try:
        cluster.delete()
    except Exception as error:
        logging.getLogger("tclose").warning(
            "DaskCluster %s could not be removed (%s); kubectl delete daskcluster %s",
            name,
            _reason(error),
            name,
        )
