"""The documents that describe a release besides its manifest, for people and for other tools.

The public manifest lists these files with their digests, so that a changed byte is found.
"""

import hashlib
from typing import NamedTuple

from tclose.data.places.untrusted_files import dump_json
from tclose.releases.manifest.datapackage import describe_package
from tclose.releases.manifest.dictionary import write_dictionary
from tclose.releases.manifest.public_manifest import FORMAT, Manifest
from tclose.releases.manifest.sections import Document
from tclose.releases.report.public_report import write_report


def make_documents(manifest: Manifest) -> dict[str, bytes]:
    """Content of each document by its name: the same bytes for the same manifest.

    A manifest of an earlier format has no figures, and no report is made of it.
    """
    documents = {
        "datapackage.json": dump_json(describe_package(manifest)),
        "dictionary.md": write_dictionary(manifest).encode(),
    }
    if manifest.figures is not None:
        documents["report.html"] = write_report(manifest).encode()
    return documents


def list_documents(documents: dict[str, bytes]) -> list[Document]:
    """Each document as the manifest lists it."""
    return [
        Document(path=name, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
        for name, content in documents.items()
    ]


class ComparedDocuments(NamedTuple):
    """Names of documents: not listed, made otherwise from the manifest, and not made from it."""

    missing: list[str]
    unlike: list[str]
    not_made: list[str]


def compare_documents(manifest: Manifest) -> ComparedDocuments:
    """Compare the documents that a manifest lists with those that would be made of it.

    Whoever has no seals has their digests alone, which an editor of a document can write anew.
    """
    listed = {document.path: document.sha256 for document in manifest.documents}
    if manifest.format != FORMAT:  # an earlier version made others, or none
        return ComparedDocuments([], [], list(listed))
    made = {one.path: one.sha256 for one in list_documents(make_documents(manifest))}
    return ComparedDocuments(
        missing=[name for name in made if name not in listed],
        unlike=[n for n, digest in made.items() if n in listed and listed[n] != digest],
        not_made=[name for name in listed if name not in made],
    )
