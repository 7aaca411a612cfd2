"""What is misspelt gets the nearest known word, and the usage of its own command."""

import subprocess
import sys

import pytest

from tclose.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "usage", "message"),
    [
        (["rnu"], "usage: tclose [", "'rnu' is none of init, run, flow, "),
        (["rnu"], "usage: tclose [", "did you mean run?"),
        (["run", "p.yaml", "--jsn"], "usage: tclose run [", "--jsn; did you mean --json?"),
        (["run", "p.yaml", "--prfile=x"], "usage: tclose run [", "did you mean --profile?"),
        (["frontier", "p", "--zzz"], "usage: tclose frontier [", "arguments: --zzz\n"),
        (["show", "a", "b"], "usage: tclose show [", "unrecognized arguments: b\n"),
    ],
)
def test_unknown_words_are_refused(arguments, usage, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    refused = capsys.readouterr().err
    assert ended.value.code == 2
    assert refused.startswith(usage)
    assert message in refused


def test_options_are_read_without_what_commands_work_with():
    """A version, a help page or a misspelt option is answered at once."""
    program = (
        "import sys\n"
        "from tclose.cli.main import main\n"
        "try:\n    main(['--version'])\nfinally:\n    print(*sys.modules)"
    )
    answered = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = {name for name in answered.stdout.split() if name.startswith("tclose.")}
    layers = {name.split(".")[1] for name in loaded}
    assert layers == {"cli", "errors", "package", "security"}  # errors redact what they quote
