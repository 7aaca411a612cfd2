"""The package itself: its version, and the folder that its modules are in."""

from pathlib import Path

VERSION = "0.1.0"
PACKAGE = Path(__file__).parent
