"""What Google Benchmark wrote: a row per benchmark name, with the fields of tril's names."""

import json
import math
import re
import statistics
from dataclasses import dataclass, field

# <phase>/<dtype>/<preset>/<tokens>/<threads>/<isa or step of the ladder>[/<cold|warm>]
NAME = re.compile(
    r"(?P<phase>\w+)/(?P<dtype>\w+)/(?P<preset>[^/]+)/(?P<tokens>\d+)/(?P<threads>\d+)/(?P<isa>\w+)"
    r"(?:/(?P<cache>cold|warm))?"
)
MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}
NOT_COUNTERS = {"family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations",
                "real_time", "cpu_time"}
ONE_MACHINE = ("tril_version", "host_name", "num_cpus")  # what runs that are read together must share


class BadRun(Exception):
    """A file that is no usable run; the text names it."""


@dataclass(frozen=True)
class Row:
    name: str
    milliseconds: float
    counters: dict
    error: str = ""
    phase: str = ""
    dtype: str = ""
    preset: str = ""
    tokens: int = 0
    threads: int = 0
    isa: str = ""
    cache: str = ""

    def __getitem__(self, counter):
        return self.counters[counter]

    def __contains__(self, counter):
        return counter in self.counters


@dataclass
class Run:
    context: dict = field(default_factory=dict)
    readings: list = field(default_factory=list)  # each repetition by itself, or the median of those
    rows: list = field(default_factory=list)  # one for each name: the median of its readings

    def select(self, *counters, **fields):
        """Rows with these fields (a value, or a set of them), by tokens and threads, whose counters can be drawn."""
        def fits(row):
            for name, wanted in fields.items():
                value = getattr(row, name)
                if value not in wanted if isinstance(wanted, set) else value != wanted:
                    return False
            return not row.error and row.tokens > 0 and all(0 < row.counters.get(c, 0) < math.inf for c in counters)

        return sorted(filter(fits, self.rows), key=lambda row: (row.tokens, row.threads))


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def make_row(name, milliseconds, counters, error=""):
    found = NAME.fullmatch(name)
    fields = {key: value or "" for key, value in found.groupdict().items()} if found else {}
    for key in ("tokens", "threads"):
        if key in fields:
            fields[key] = int(fields[key])
    return Row(name, milliseconds, counters, error, **fields)


def plain_name(entry):
    """The name of an entry without what the library adds to it, and the aggregate that it is, if any."""
    name, aggregate = entry["name"], entry.get("aggregate_name", "")
    if not aggregate and name.endswith("_median"):
        aggregate = "median"
    name = name.removesuffix(f"_{aggregate}") if aggregate else name
    return re.sub(r"/(iterations:\d+|repeats:\d+|manual_time|real_time|process_time)\b", "", name), aggregate


def read_entry(entry):
    """The reading in one entry of "benchmarks", and whether it is a median; None for what is no measurement."""
    name, aggregate = plain_name(entry)
    if aggregate not in ("", "median") or entry.get("skipped"):
        return None
    if entry.get("error_occurred"):
        return make_row(name, math.nan, {}, str(entry.get("error_message") or "failed")), False
    if not 0 < entry["real_time"] < math.inf:
        raise TypeError("a time that is none")
    milliseconds = entry["real_time"] * MILLISECONDS[entry.get("time_unit", "ns")]
    counters = {key: value for key, value in entry.items() if is_number(value) and key not in NOT_COUNTERS}
    return make_row(name, milliseconds, counters), aggregate == "median"


def median_row(readings):
    """One row of several with the same name."""
    for row in readings:
        if row.error:
            return row
    shared = set.intersection(*(set(row.counters) for row in readings))
    counters = {key: statistics.median(row[key] for row in readings) for key in readings[0].counters if key in shared}
    return make_row(readings[0].name, statistics.median(row.milliseconds for row in readings), counters)


def read_file(path):
    """Context and readings of one file. Where repetitions have a median, that is the row and they are not."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except OSError as error:
        raise BadRun(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise BadRun(f"{path}: not JSON") from None
    try:
        context, entries = content["context"], content["benchmarks"]
        if not isinstance(context, dict) or not isinstance(entries, list):
            raise TypeError
        found = [reading for reading in map(read_entry, entries) if reading]
    except (AttributeError, KeyError, TypeError):
        raise BadRun(f"{path}: not written by Google Benchmark") from None
    if not found:
        raise BadRun(f"{path}: holds no measurement")
    return context, found


def load(paths):
    """All files as one run. The same name in several files, or several times in one, gives one row of medians."""
    run = Run()
    by_name = {}
    for path in paths:
        context, found = read_file(path)
        for key in ONE_MACHINE:
            old, new = run.context.get(key), context.get(key)
            if None not in (old, new) and old != new:
                raise BadRun(f"{path}: {key} is {new}, not {old} as in the run before")
        run.context = {**context, **run.context}
        run.readings += [row for row, _ in found]
        with_median = {row.name for row, is_median in found if is_median}
        for row, is_median in found:
            if is_median or row.error or row.name not in with_median:
                by_name.setdefault(row.name, []).append(row)
    run.rows = [median_row(rows) for rows in by_name.values()]
    return run


def exponent(points):
    """Slope of the least-squares line through the logarithms of (x, y), and y at x = 1."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    slope, intercept = statistics.linear_regression(*zip(*logs))
    return slope, math.exp(intercept)
