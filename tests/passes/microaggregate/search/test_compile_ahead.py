"""What is compiled ahead is what a release calls, of the same types."""

import subprocess
import sys
from pathlib import Path

# In a process of its own, as others may have had the kernels compiled for other types.
SCRIPT = """
from pathlib import Path
from tclose.api import warm_up
from tclose.data.synthetic import write_microdata
from tclose.kernels.refinement.pools import pool_blocks
from tclose.kernels.refinement.refine_blocks import refine_blocks
from tclose.passes.microaggregate.search.compile_ahead import compile_pools, compile_search
compile_search()
compile_pools()
print(len(refine_blocks.signatures), len(pool_blocks.signatures))
write_microdata(Path("table.parquet"), warm_up.N_ROWS, 1)
warm_up._release(Path.cwd(), 0, ["method.refine=fast"])
print(len(refine_blocks.signatures), len(pool_blocks.signatures))
Path("table.parquet").unlink()
write_microdata(Path("table.parquet"), warm_up.N_ROWS, 1, returning=0.3)
warm_up._release(Path.cwd(), 1, ["method.refine=fast", "attributes.patient_id=person"])
print(len(refine_blocks.signatures), len(pool_blocks.signatures))
"""


def test_a_release_calls_what_was_compiled_ahead(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT]
    run = subprocess.run(
        command, cwd=tmp_path, check=True, timeout=600, capture_output=True, text=True
    )
    assert run.stdout.split() == ["1"] * 6
