"""``python deploy/install.py LOCK``: the packages of a lock and tclose, into this environment.

uv installs in seconds what takes pip a minute. It is in every lock, and is fetched by pip, which is
there; it is told of the indexes and certificates that pip is set up with, as it does not read them
itself. Where it fails all the same, pip installs everything. Nothing is resolved: the locks are
whole, and all that is fetched has to have the digest that they give.
"""

import ast
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
UV = [str(Path(sys.executable).parent / "uv"), "--quiet"]
LOCKED = ["--require-hashes", "--no-deps", "--only-binary", ":all:"]
# What pip calls a setting, and what uv does.
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
    "trusted-host": "UV_INSECURE_HOST",
    "timeout": "UV_HTTP_TIMEOUT",
    "no-index": "UV_NO_INDEX",
}
OURS = [Path(__file__).parent.parent / name for name in ("pipeline", "flows")]
SECTIONS = ("global", "install", ":env:")  # each over those before it
# What cannot be compiled (templates) or is not: tests, large packages of which little is used.
SELDOM = (
    r"/site-packages/(.*/)?(tests?|testing|_vendor|antlr4|apprise|aws_xray_sdk|cfnlint|cuda|"
    r"dateparser|distutils|docker|fontTools|graphql|hatchling|moto|mpmath|mypyc?|networkx|oauthlib|"
    r"pip|pkg_resources|plugins|pygments|setuptools|sympy)/"
)


def read_settings(listed: str) -> dict[str, str]:
    """The variables that tell uv what ``pip config list`` says of where packages are."""
    found: dict[str, dict[str, str]] = {section: {} for section in SECTIONS}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if section in found:
            found[section][name.removeprefix("default-")] = str(ast.literal_eval(value))
    settings = {name: text for section in SECTIONS for name, text in found[section].items()}
    return {
        variable: " ".join(settings[name].split())
        for name, variable in SETTINGS.items()
        if settings.get(name)
    }


def find_lines(lock: str, package: str) -> str:
    """The lines of a package in the text of a lock: its version and digests."""
    found = re.search(rf"^{re.escape(package)}==.*\n(?:[ ].*\n)*", lock, re.MULTILINE)
    if found is None:
        raise SystemExit(f"{package} is not in the lock")
    return found[0]


def _fetch_uv(lock: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(folder, "uv.lock")
        alone.write_text(find_lines(lock.read_text(encoding="utf-8"), "uv"), encoding="utf-8")
        _run([*PIP, "install", "-qq", *LOCKED, "-r", str(alone)])


def _install_by_uv(lock: Path) -> None:
    """Install and check all; several indexes are one, as for pip: the digests decide."""
    _fetch_uv(lock)
    listed = subprocess.run([*PIP, "config", "list"], check=True, capture_output=True, text=True)
    into = ["--python", sys.executable]
    environment = {"UV_INDEX_STRATEGY": "unsafe-best-match", **read_settings(listed.stdout)}
    environment |= os.environ
    _run([*UV, "pip", "install", *into, *LOCKED, "-r", str(lock)], environment)
    editable = ["--no-deps", "--no-build-isolation", "--editable", "."]
    _run([*UV, "pip", "install", *into, *editable], environment)
    _run([*UV, "pip", "check", *into], environment)


def _install_by_pip(lock: Path) -> None:
    _run([*PIP, "install", "-qq", "--no-compile", *LOCKED, "-r", str(lock)])
    _run([*PIP, "install", "-qq", "--no-deps", "--no-build-isolation", "--editable", "."])
    _run([*PIP, "check"])


def _compile() -> None:
    """Compile packages, and tclose where it stands: some users keep Python from doing it later."""
    library = Path(sys.executable).parent.parent / "lib"
    folders = [str(folder) for folder in (library, *OURS)]
    command = ["-m", "compileall", "-qq", "-j", "0", "-x", SELDOM, *folders]
    subprocess.run([sys.executable, *command], check=False)


def _run(command: list[str], environment: Mapping[str, str] | None = None) -> None:
    subprocess.run(command, check=True, env=environment, stdout=sys.stderr)


def main(lock: Path) -> int:
    """Install, and compile what is used. Returns the exit status."""
    n_packages = len(re.findall(r"^\w", lock.read_text(encoding="utf-8"), re.MULTILINE))
    print(f"installing {n_packages} packages of {lock} ...", file=sys.stderr, flush=True)
    try:
        _install_by_uv(lock)
    except (OSError, subprocess.CalledProcessError):
        print("uv could not; pip does, in a minute or two ...", file=sys.stderr, flush=True)
        try:
            _install_by_pip(lock)
        except subprocess.CalledProcessError as error:
            return error.returncode
    _compile()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1])))
    except KeyboardInterrupt:
        sys.exit(130)
