"""The sketch of a release's persons, by which later releases of the same persons are told."""

from tclose.passes.persons.person_numbers import NUMBERED, PersonCounts
from tclose.releases.composition.shared_persons import SKETCH_SIZE
from tclose.releases.manifest.internal_manifest import PersonSketch
from tclose.runtime.artifacts.artifacts import Artifact, Workspace

# One, or none where there is no column of persons.
PERSON_SKETCHES = Artifact("person-sketches", tuple[PersonSketch, ...])


def sketch_persons(workspace: Workspace, counts: PersonCounts) -> PersonSketch:
    """The smallest hashes of all persons; ranges of persons are in the order of their hashes."""
    hashes: list[int] = []
    for index in range(len(counts.of_ranges)):
        if len(hashes) < SKETCH_SIZE:
            hashes += workspace.file(NUMBERED, index).read()[0][:SKETCH_SIZE].tolist()
    words = sorted(hashes)[:SKETCH_SIZE]
    return PersonSketch(persons=counts.n_persons, hashes=[f"{word:016x}" for word in words])
