"""Joint attributes in an audit: what the manifest asks of combinations, counted in the files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.data.places.untrusted_files import MalformedError
from tclose.model.array_types import Int64
from tclose.model.attributes import Attribute, Column
from tclose.model.column_terms import Distance, Kind, Role
from tclose.model.distribution import Distribution, make_distribution
from tclose.privacy.joint import Joint, joint_column, number_combinations, place_parts
from tclose.privacy.t_closeness import with_metric
from tclose.releases.manifest.privacy_sections import JointResult


@dataclass(frozen=True, eq=False)
class AuditedJoint:
    """The joint attributes of some rows, the distributions that they have, and their t."""

    columns: tuple[Column, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    limits: tuple[Fraction, ...] = ()
    joints: tuple[Joint, ...] = ()


def find_joint(
    entries: Sequence[JointResult],
    columns: Sequence[Column],
    distributions: Sequence[Distribution],
    files: Iterable[Int64],
) -> AuditedJoint:
    """Find the joint distances that classes have to be checked for.

    Parameters
    ----------
    entries : as the manifest's ``privacy.joint`` has it
    columns, distributions : of the confidential attributes
    files : their codes in each file, int64 (p, n)

    Raises
    ------
    MalformedError
        They are no combinations of these attributes.
    """
    attributes = [_read(entry) for entry in entries]
    if not attributes:
        return AuditedJoint()
    names = [column.name for column in columns]
    if not {name for attribute in attributes for name in attribute.combines} <= set(names):
        raise MalformedError("combinations of other columns than the confidential ones")
    part_indices = [place_parts(attribute, names) for attribute in attributes]
    widths = [[distributions[a].values.size for a in of_joint] for of_joint in part_indices]
    pieces: list[list[Int64]] = [[] for _ in attributes]
    for codes in files:
        for j, of_joint in enumerate(part_indices):
            combinations, counts = number_combinations(codes[list(of_joint)], widths[j])
            pieces[j].append(np.vstack([combinations.parts(), counts]))
    joint_distributions, joints = [], []
    for j, of_joint in enumerate(part_indices):
        rows = np.concatenate(pieces[j], axis=1)
        combinations, counts = number_combinations(rows[:-1], widths[j], rows[-1])
        joint_distributions.append(make_distribution(np.arange(counts.size), counts))
        joints.append(Joint(of_joint, combinations))
    of_joint_columns = tuple(map(joint_column, attributes))
    return AuditedJoint(
        of_joint_columns,
        tuple(
            with_metric(d, c, ())
            for d, c in zip(joint_distributions, of_joint_columns, strict=True)
        ),
        tuple(a.max_emd for a in attributes if a.max_emd is not None),
        tuple(joints),
    )


def _read(entry: JointResult) -> Attribute:
    """The attribute that an entry describes."""
    names = tuple(entry.attributes)
    return Attribute(
        " with ".join(names),
        Role.CONFIDENTIAL,
        kind=Kind.NOMINAL,
        max_emd=Fraction(str(entry.asked)),
        distance=Distance.EQUAL,
        combines=names,
    )
