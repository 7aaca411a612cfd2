"""The papers' numbers beside ours: what is computed again, from which data, and where it differs.

``python -m benchmarks.reproduction [--reduced] [--out REPRODUCTION.md]``
"""
