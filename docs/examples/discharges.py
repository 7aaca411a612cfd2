# %% [markdown]
# # A release, from a DataFrame to an audited table
#
# Invented hospital discharges are released so that nobody learns what a patient was charged. Every
# cell can be run in a notebook; the tests run them all.

# %%
import tempfile
from pathlib import Path

import tclose
from tclose.data.synthetic import generate_rows

discharges = generate_rows(0, 2_000, seed=7).to_pandas()
discharges.head()

# %% [markdown]
# The policy says what the columns are and what is asked. It has no `input`: that is the DataFrame.

# %%
releases = Path(tempfile.mkdtemp())
policy = {
    "name": "discharges",
    "unlisted": "drop",
    "attributes": {
        "patient_id": "identifier",
        "age": "quasi-identifier",
        "sex": "quasi-identifier",
        "zip": {"role": "quasi-identifier", "aggregate": "median"},
        "charge": "confidential",
    },
    "privacy": {"k": 5, "t": 0.15},
    "output": {"path": str(releases)},
}

# %% [markdown]
# As they are, most patients are alone in their class:

# %%
before = tclose.check(discharges, ["age", "sex", "zip"], ["charge"], k=5, t=0.15)
before

# %% [markdown]
# What would a release do, and what would other k and t cost?

# %%
tclose.plan(discharges, policy)

# %%
frontier = tclose.frontier(discharges, policy, k=[5], t=[0.1, 0.15, 0.3])
frontier.to_pandas()[["k", "t", "information_loss", "record_linkage_risk"]]

# %%
frontier.plot()

# %% [markdown]
# The release is verified before it is published. The same call again finds it there.

# %%
release = tclose.release(discharges, policy)
release

# %%
again = tclose.release(discharges, policy)
assert again.already_published
assert again.release_id == release.release_id

# %%
released = release.to_pandas()
released.groupby(["age", "sex", "zip"]).size().min()

# %% [markdown]
# Whoever has the files can verify them again; and any table, whoever made it, can be checked.

# %%
assert release.audit().passed
after = tclose.check(released, ["age", "sex", "zip"], ["charge"], k=5, t=0.15)
assert after.passed
assert not before.passed
after

# %% [markdown]
# What cannot be met is an error that says why; nothing is published then.

# %%
try:
    tclose.release(discharges, policy | {"privacy": {"k": 3_000, "t": 0.15}})
except tclose.TcloseError as error:
    print(error)
