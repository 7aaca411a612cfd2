"""The command ``tclose keys``: a pair of keys for public signatures."""

import argparse
import json
from pathlib import Path


def add_keys_options(command: argparse.ArgumentParser) -> None:
    """The options of the command."""
    command.add_argument("--out", type=Path, required=True, metavar="FOLDER",
                         help="folder for signing-key.pem, which stays private, and "
                         "public-key.pem, which recipients get")  # fmt: skip
    command.add_argument("--json", action="store_true", help="print the result as JSON")


def make_keys(arguments: argparse.Namespace) -> str:
    """Make the pair; returns what to say of it."""
    from tclose.releases.signatures.key_pair import write_key_pair

    pair = write_key_pair(arguments.out)
    if arguments.json:
        described = {
            "private": str(pair.private),
            "public": str(pair.public),
            "key_id": pair.key_id,
        }
        return json.dumps(described, indent=2)
    return "\n".join(
        (
            f"key id   {pair.key_id}",
            f"private  {pair.private}  (keep it; policies name it as output.signing_key)",
            f"public   {pair.public}  (for recipients: tclose audit RELEASE --public-key)",
        )
    )
