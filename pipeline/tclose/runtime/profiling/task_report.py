"""The report of a run on a cluster: one HTML file that needs no script and no other file.

It shows what Dask's own performance report does of tasks, workers and code. That one is not used:
it is drawn by the scheduler, so that every cluster would need bokeh (70 MB with what it needs), it
is made of scripts, and it also shows the caller's source code and the tasks of a scheduler's other
users.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from html import escape
from statistics import median
from typing import Any

from tclose.runtime.engines.sampling import Calls
from tclose.runtime.engines.tracing import Span, Trace

_COLOURS = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#ee8866", "#777777",
)  # fmt: skip
_WAITING_COLOUR = "#000000"  # for what a worker does besides computing
_WIDTH, _LANE, _MARGIN = 1_000, 18, 22
_MOST_SPANS = 20_000  # a browser draws these; of more, the longest
_MOST_FUNCTIONS = 12
_TICKS = 10


@dataclass(frozen=True)
class TaskSums:
    """Sums over the tasks of a kind: ``seconds`` from first to last, computing, and the rest."""

    task_name: str
    n_tasks: int
    seconds: float
    compute_seconds: float
    median_seconds: float
    longest_seconds: float
    other_seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        values = asdict(self)
        return {"task": values.pop("task_name")} | _round(values)


@dataclass(frozen=True)
class WorkerSums:
    """A worker over the whole run: its tasks, how long it computed, most that it held."""

    worker: str
    tasks: int
    compute_seconds: float
    busy_share: float
    peak_bytes: int

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return _round(asdict(self))


def _round(values: dict[str, Any]) -> dict[str, Any]:
    return {k: round(v, 4) if isinstance(v, float) else v for k, v in values.items()}


def sum_tasks(traces: Iterable[Trace]) -> list[TaskSums]:
    """Return the sums of each kind of task that ran."""
    return [_sum_task(trace) for trace in traces if trace.spans]


def _sum_task(trace: Trace) -> TaskSums:
    computed = [span.seconds for span in trace.spans if span.action == "compute"]
    return TaskSums(
        task_name=trace.task_name,
        n_tasks=len({span.task for span in trace.spans}),
        seconds=max(s.stop for s in trace.spans) - min(s.start for s in trace.spans),
        compute_seconds=sum(computed),
        median_seconds=median(computed) if computed else 0.0,
        longest_seconds=max(computed, default=0.0),
        other_seconds=sum(span.seconds for span in trace.spans) - sum(computed),
    )


def peaks(traces: list[Trace]) -> dict[str, int]:
    """Most memory that each process ever held, in bytes, where it is known."""
    held: dict[str, int] = {}
    for name, n_bytes in sorted(pair for trace in traces for pair in trace.peaks.items()):
        if n_bytes:
            held[name] = max(held.get(name, 0), n_bytes)
    return held


def sum_workers(traces: list[Trace]) -> list[WorkerSums]:
    """Sums of each worker. ``busy_share`` is of the time in which tasks ran."""
    total = sum(sums.seconds for sums in sum_tasks(traces))
    held = peaks(traces)
    computed: dict[str, list[float]] = {name: [] for name in held}
    for span in (span for trace in traces for span in trace.spans):
        if span.action == "compute":
            computed.setdefault(span.worker, []).append(span.seconds)
    return [
        WorkerSums(
            worker=name,
            tasks=len(seconds),
            compute_seconds=sum(seconds),
            # Dask moves spans by what it thinks the clocks differ in, which changes meanwhile.
            busy_share=min(1.0, sum(seconds) / total) if total else 0.0,
            peak_bytes=held.get(name, 0),
        )
        for name, seconds in sorted(computed.items())
    ]


def render_report(traces: list[Trace], name: str) -> str:
    """The report as HTML."""
    parts = [
        f"<h1>Dask report of a run: {escape(name)}</h1>",
        *(f"<p>Missing: {escape(p)}.</p>" for p in sorted({t.problem for t in traces} - {""})),
        "<h2>Kinds of task</h2>",
        _render_tasks(traces),
        "<h2>Tasks over time</h2>",
        _ABOUT_TIMELINE,
        _render_timeline(traces),
        "<h2>Workers</h2>",
        _render_workers(traces),
        "<h2>Code</h2>",
        _ABOUT_CODE,
        *(_render_code(trace) for trace in traces if trace.calls is not None),
    ]
    return _PAGE.format(title=escape(name), style=_STYLE, body="\n".join(parts))


_ABOUT_TIMELINE = (
    "<p>A row for each thread of a worker; white is idle, black is transfer or disk. Point at a "
    "task for its times.</p>"
)
_ABOUT_CODE = (
    "<p>Where workers' threads were found, looked at every 10 ms while tasks ran. A "
    "compiled kernel counts for the function that calls it.</p>"
)
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Dask report: {title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""
_STYLE = """
body { font: 15px/1.4 sans-serif; max-width: 1040px; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; }
td, th { padding: .15em .7em; text-align: right; border-bottom: 1px solid #ddd; }
td { white-space: nowrap; }
td:first-child, th:first-child { text-align: left; }
svg { width: 100%; height: auto; border: 1px solid #ddd; font: 10px sans-serif; }
summary { cursor: pointer; }
details details, details div { margin-left: 1.2em; }
small { color: #666; }
"""


def _render_tasks(traces: list[Trace]) -> str:
    colours = _colours(traces)
    head = "task", "tasks", "first to last", "work", "median task", "longest", "transfer, disk"
    rows = [
        (
            _name_task(sums.task_name, colours),
            f"{sums.n_tasks:,}",
            f"{sums.seconds:.2f} s",
            f"{sums.compute_seconds:.2f} s",
            f"{sums.median_seconds:.3f} s",
            f"{sums.longest_seconds:.3f} s",
            f"{sums.other_seconds:.2f} s",
        )
        for sums in sum_tasks(traces)
    ]
    return _render_table(head, rows)


def _name_task(name: str, colours: dict[str, str]) -> str:
    return f'<span style="color:{colours[name]}">&#9632;</span> {escape(name)}'


def _render_workers(traces: list[Trace]) -> str:
    head = "worker", "tasks", "work", "busy while tasks ran", "most memory"
    rows = [
        (
            escape(sums.worker),
            f"{sums.tasks:,}",
            f"{sums.compute_seconds:.2f} s",
            f"{100 * sums.busy_share:.0f} %",
            f"{sums.peak_bytes / 1e6:,.0f} MB" if sums.peak_bytes else "",
        )
        for sums in sum_workers(traces)
    ]
    return _render_table(head, rows)


def _render_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of cells that are HTML already."""
    lines = ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows]
    first = "<tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr>"
    return "\n".join(["<table>", first, *lines, "</table>"])


def _colours(traces: list[Trace]) -> dict[str, str]:
    names = dict.fromkeys(trace.task_name for trace in traces)
    return {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(names)}


def _render_timeline(traces: list[Trace]) -> str:
    drawn = [(trace.task_name, span) for trace in traces for span in trace.spans]
    if not drawn:
        return "<p>No tasks.</p>"
    left_out = len(drawn) - _MOST_SPANS
    drawn = sorted(drawn, key=lambda pair: -pair[1].seconds)[:_MOST_SPANS]
    start = min(span.start for _, span in drawn)
    scale = _WIDTH / max(max(span.stop for _, span in drawn) - start, 1e-9)
    lanes = sorted({(span.worker, span.thread) for _, span in drawn})
    row_of = {lane: row for row, lane in enumerate(lanes)}
    colours = _colours(traces)
    height = len(lanes) * _LANE + _MARGIN
    bars = [
        _draw_span(name, span, (span.start - start) * scale, scale,
                   row_of[span.worker, span.thread], colours[name])
        for name, span in drawn
    ]  # fmt: skip
    note = [f"<p>The {left_out:,} shortest are left out.</p>"] if left_out > 0 else []
    opening = f'<svg viewBox="0 0 {_WIDTH} {height}" role="img">'
    return "\n".join([opening, *_draw_axis(scale, height), *bars, "</svg>", *note])


def _draw_span(name: str, span: Span, x: float, scale: float, row: int, colour: str) -> str:
    computes = span.action == "compute"
    title = f"{name} {span.task}, {span.action}: {span.seconds:.3f} s on {span.worker}"
    return (
        f'<rect x="{x:.2f}" y="{row * _LANE + 2}" width="{max(span.seconds * scale, 0.3):.2f}" '
        f'height="{_LANE - 4}" fill="{colour if computes else _WAITING_COLOUR}">'
        f"<title>{escape(title)}</title></rect>"
    )


def _draw_axis(scale: float, height: int) -> Iterator[str]:
    for tick in range(_TICKS):
        x = _WIDTH * tick // _TICKS
        yield f'<path d="M{x} 0V{height - _MARGIN}" stroke="#eee"/>'
        yield f'<text x="{x + 2}" y="{height - 7}">{x / scale:.1f} s</text>'


def _render_code(trace: Trace) -> str:
    assert trace.calls is not None
    total = trace.calls.count
    own: dict[str, int] = {}
    for calls in _walk(trace.calls):
        if calls.own and calls.place:
            function = _name_function(calls)
            own[function] = own.get(function, 0) + calls.own
    most = sorted(own.items(), key=lambda pair: -pair[1])[:_MOST_FUNCTIONS]
    rows = [(function, f"{100 * count / total:.0f} %") for function, count in most]
    tree = "".join(_render_calls(call, total) for call in trace.calls.called)
    return (
        f"<h3>{escape(trace.task_name)}</h3><p>{total:,} samples.</p>"
        f"{_render_table(('in the function itself', 'of samples'), rows)}"
        f"<details><summary>who called whom</summary>{tree}</details>"
    )


def _walk(calls: Calls) -> Iterator[Calls]:
    yield calls
    for call in calls.called:
        yield from _walk(call)


def _name_function(calls: Calls) -> str:
    return f"{escape(calls.name)} <small>{escape(calls.place)}</small>"


def _render_calls(calls: Calls, total: int) -> str:
    line = f"{100 * calls.count / total:.0f} % {_name_function(calls)}"
    if not calls.called:
        return f"<div>{line}</div>"
    inner = "".join(_render_calls(call, total) for call in calls.called)
    return f"<details open><summary>{line}</summary>{inner}</details>"
