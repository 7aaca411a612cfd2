"""The key by which registers hash persons, where it is kept elsewhere than with the releases.

Without one it is made from the release key, which is in the output folder: whoever can read all
of that can then try identifiers. A file that ``engine.key_path`` or the environment names can stand
on another machine's disk, or in a vault that mounts it.
"""

import os

from tclose.errors import PolicyError
from tclose.model.column_terms import Role
from tclose.passes.compare.keyed_hashes import KEY_BYTES, derive_key
from tclose.policy.policy import Policy
from tclose.releases.signatures.key_files import read_key_file

REGISTER_VARIABLE = "TCLOSE_REGISTER_KEY"
PERSON_PURPOSE = "persons of all releases"
_REMEDY = (
    "put back the key that the series has, or make one for a new series: "
    f"`(umask 077; head -c {KEY_BYTES} /dev/urandom > FILE)`"
)


def find_person_key(policy: Policy, release_key: bytes | None) -> bytes | None:
    """The key that persons are hashed with; None where there is neither a file nor a release key.

    Raises
    ------
    PolicyError
        The file cannot be read, could be read by others, or has no key.
    """
    named = policy.engine.key_path or os.environ.get(REGISTER_VARIABLE)
    secret = release_key
    if named:
        where = name_source(policy)
        secret = read_key_file(named, where, _REMEDY)
        if len(secret) != KEY_BYTES:
            raise PolicyError(f"{where}: has {len(secret):,} bytes, not {KEY_BYTES}; {_REMEDY}")
    return None if secret is None else derive_key(secret, PERSON_PURPOSE)


def name_source(policy: Policy) -> str:
    """Say where the key comes from."""
    if policy.engine.key_path:
        return f"engine.key_path {policy.engine.key_path}"
    if named := os.environ.get(REGISTER_VARIABLE):
        return f"{REGISTER_VARIABLE} {named}"
    return f"the release key of {policy.output.path}"


def identify_key(key: bytes) -> str:
    """The id by which a register says what key it is of; it tells nothing of the key."""
    return derive_key(key, "id").hex()[:16]


def find_key_id(policy: Policy, release_key: bytes) -> str:
    """The id of the key that a policy's persons are hashed with; empty where it has no persons.

    Raises
    ------
    PolicyError
        As `find_person_key` does.
    """
    if all(one.role is not Role.PERSON for one in policy.attributes.values()):
        return ""
    key = find_person_key(policy, release_key)
    return "" if key is None else identify_key(key)


def check_register_key(policy: Policy, series: str, release: str, key_id: str, key: bytes) -> None:
    """See that a register is of the key; earlier ones do not say.

    Raises
    ------
    PolicyError
        It is of another one, so that all its persons would be taken for others.
    """
    if key_id and key_id != identify_key(key):
        raise PolicyError(
            f"{name_source(policy)}: is not the key of series {series!r}: the register of release "
            f"{release} is of another one; put that back, by engine.key_path or "
            f"{REGISTER_VARIABLE}, or begin a new series"
        )
