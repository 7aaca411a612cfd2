"""How much faster more workers are, in tables."""

from benchmarks.performance.scale import Timed, render_times


def test_speed_up_is_of_medians() -> None:
    manifest = {
        "seconds": {"plan": 1.25, "verify": 2.0},
        "files": [{"path": "data/a.parquet", "sha256": "00"}],
    }
    seconds = {"1": [40.0, 60.0, 50.0], "2": [25.0, 31.25, 30.0], "1 and 1": [62.5], "4": [40.0]}
    timed = {
        refine: {
            workers: [Timed(times * took, manifest) for took in runs]
            for workers, runs in seconds.items()
        }
        for refine, times in (("off", 1.0), ("fast", 2.0))
    }
    timed["fast"]["2"] = [Timed(50.0, manifest)]
    times, targets = render_times(timed)
    assert "| off | 2 | 25.0, 31.2, 30.0 | 30.0 | 1.67 | plan 1.2, verify 2.0 | " in times
    assert "| off | 1 and 1 | 62.5 | 62.5 | 1.60 |" in times
    assert "| off: 2 workers as fast as 1, times | at least 1.7 | 1.6667 | **not met** |" in targets
    assert "| fast: 2 workers as fast as 1, times | at least 1.7 | 2 | met |" in targets
