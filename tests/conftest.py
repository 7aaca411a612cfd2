"""Tells, at the end, what was tried where trials and cases are drawn, and how many there were."""

import pytest

TITLES = {"fault": "trials of faults", "cases": "policies drawn at random"}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what passing tests have recorded of themselves."""
    for name, title in TITLES.items():
        told = [
            text
            for report in terminalreporter.stats.get("passed", [])
            for key, text in report.user_properties
            if key == name
        ]
        if told:
            terminalreporter.section(title)
            for text in told:
                terminalreporter.line(f"  {text}")
            terminalreporter.line(f"{len(told)} passed")
