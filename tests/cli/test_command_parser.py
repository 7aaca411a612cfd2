"""What is misspelt gets the nearest known word, and the usage of its own command."""

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
