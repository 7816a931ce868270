#!/usr/bin/env python3
"""Tests of bench/goals, by runs that meet and miss them.

usage: goals.py GOALS [UNITTEST ARGUMENTS]
"""

import copy
import json
import math
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import fixture  # noqa: E402

GOALS = None  # the program
MODEL = "f32/qwen3-0.6b"

LEAST = {  # row: counter, and the least that it must reach
    **{f"prefill/{MODEL}/{tokens}/1/{isa}": ("of_peak", round(least - less, 2))
       for isa, less in (("avx512", 0), ("avx2", 0.02))
       for tokens, least in ((128, 0.55), (512, 0.74), (1024, 0.80), (2048, 0.84), (4096, 0.85))},
    **{f"prefill/f32/{shape}/1/{isa}": ("of_peak", round(least - less, 2))
       for isa, less in (("avx512", 0), ("avx2", 0.02))
       for shape, least in (("gpt-2-x4/1024", 0.72), ("bert-base-x8/512", 0.79),
                            ("qwen3-0.6b-chunk-512/16384", 0.84), ("qwen3-0.6b-chunk-512/131072", 0.80))},
    f"prefill/{MODEL}/2048/1/sse42": ("of_peak", 0.75),
    **{f"decode/{MODEL}/16384/1/{isa}/cold": ("of_bandwidth", 0.60) for isa in ("avx512", "avx2")},
    **{f"projection/f32/{model}/{rows}/1/avx512": ("of_peak", 0.86)
       for model in ("qwen3-0.6b", "llama-7b") for rows in (512, 2048)},
    f"projection/{MODEL}/64/1/avx512": ("of_peak", 0.80),
    f"projection/{MODEL}/1/1/avx512/cold": ("of_bandwidth", 0.85),
    **{f"decode_bthd/{MODEL}/16384/1/{isa}/cold": ("of_bandwidth", 0.45) for isa in ("avx512", "avx2")},
}
MOST = {f"prefill/{MODEL}/{tokens}/1/{isa}": ("computed_over_visible", most)
        for isa in ("avx512", "avx2") for tokens, most in ((512, 1.12), (4096, 1.02))}


class Runs:
    """Rows of the fixture, to be changed before they are judged."""

    def __init__(self):
        self.content = fixture.run()

    def __getitem__(self, name):
        return next(entry for entry in self.content["benchmarks"] if entry["name"] == name)

    def drop(self, pattern):
        rows = self.content["benchmarks"]
        rows[:] = [entry for entry in rows if not re.search(pattern, entry["name"])]


def judge_texts(*texts):
    """Exit status, standard output and error, for files with these texts."""
    with tempfile.TemporaryDirectory() as directory:
        files = []
        for number, text in enumerate(texts):
            files.append(Path(directory, f"run{number}.json"))
            files[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
        result = subprocess.run([GOALS, *files], capture_output=True, text=True, check=False)
        return result.returncode, result.stdout, result.stderr


def judge(*contents):
    """Exit status and the lines of goals, as {(rows, figure): (measured, result, whole line)}."""
    status, out, error = judge_texts(*(json.dumps(getattr(content, "content", content)) for content in contents))
    assert not error, error
    lines = {}
    for line in out.splitlines()[1:-1]:
        cells = re.split(r"  +", line)
        result = next(cell for cell in cells[2:] if cell in ("pass", "FAIL", "no run"))
        measured = cells[2] if re.fullmatch(r"[-\d.]+|nan", cells[2]) else None
        lines[cells[0], cells[1]] = (measured, result, line)
    return status, lines


class Goals(unittest.TestCase):
    def setUp(self):
        self.runs = Runs()

    def expect(self, missed, *more):
        """Judges the runs and requires that these goals, (rows, figure), are missed and no others."""
        status, lines = judge(self.runs, *more)
        failed = {goal for goal, (_, result, _) in lines.items() if result == "FAIL"}
        self.assertEqual(failed, set(missed))
        self.assertEqual(status, 1 if missed else 0)
        return lines

    def test_all_met(self):
        lines = self.expect([])
        self.assertEqual({result for _, result, _ in lines.values()}, {"pass"})
        self.assertEqual(len(lines), len(LEAST) + len(MOST) + 10 + 8 + 2 + 2 + 1)
        self.assertEqual(lines[f"prefill/{MODEL}/4096/1/avx512", "of_peak"][0],
                         f"{self.runs[f'prefill/{MODEL}/4096/1/avx512']['of_peak']:.4f}")

    def test_each_threshold(self):
        for limits, off in ((LEAST, -1e-6), (MOST, 1e-6)):
            for name, (counter, limit) in limits.items():
                with self.subTest(name=name, counter=counter):
                    self.runs = Runs()
                    self.runs[name][counter] = limit
                    self.runs.drop("/2/")  # what threads gain is not the question
                    self.expect([])
                    self.runs[name][counter] = limit + off
                    self.expect([(name, counter)])

    def test_aim(self):
        name = f"prefill/{MODEL}/4096/1/avx512"
        for value, met in ((0.9, True), (0.899, False)):
            self.runs[name]["of_peak"] = value
            self.runs.drop("/2/")
            line = self.expect([])[name, "of_peak"][2]
            self.assertIn("≥ 0.85", line)
            self.assertIn("≥ 0.90", line)
            self.assertEqual("met" in line, met)

    def test_not_run(self):
        self.runs.drop("^prefill.*(avx512|/4096/)")
        lines = self.expect([])
        self.assertEqual(lines[f"prefill/{MODEL}/4096/1/avx2", "of_peak"][:2], (None, "no run"))
        self.assertEqual(lines[f"prefill/{MODEL}/1024../2../avx512", "thread scaling"][1], "no run")
        self.assertEqual(lines[f"prefill/{MODEL}/1024..16384/1/avx512", "growth of time per FLOP"][1], "no run")
        self.assertEqual(lines[f"prefill/{MODEL}/2048..8192/1/avx512", "exponent of time"][1], "no run")
        self.assertEqual(lines[f"prefill/{MODEL}/2048..8192/1/avx2", "exponent of time"][:2][1], "pass")

    def test_ends_of_a_range(self):
        self.runs.drop("^prefill.*/(1024|8192)/1/")
        lines = self.expect([])
        self.assertEqual(lines[f"prefill/{MODEL}/1024..16384/1/avx2", "growth of time per FLOP"][1], "no run")
        self.assertEqual(lines[f"prefill/{MODEL}/2048..8192/1/avx2", "exponent of time"][1], "no run")

    def test_threads(self):
        goal = (f"prefill/{MODEL}/1024../2../avx2", "thread scaling")
        one, two = self.runs[f"prefill/{MODEL}/8192/1/avx2"], self.runs[f"prefill/{MODEL}/8192/2/avx2"]
        two["of_peak"] = one["of_peak"] * 0.9651
        self.assertIn("8192", self.expect([])[goal][2])
        two["of_peak"] = one["of_peak"] * 0.9649
        self.assertEqual(self.expect([goal])[goal][0], "0.9649")
        # The other way round would be a gain.
        one["of_peak"], two["of_peak"] = two["of_peak"], one["of_peak"]
        self.expect([])

    def test_threads_of_other_benchmarks(self):
        for one, two, goal, least in ((f"prefill/{MODEL}-ragged/2048/1/avx512", f"prefill/{MODEL}-ragged/2048/2/avx512",
                                       f"prefill/{MODEL}-ragged/2048/2../avx512", 0.92),
                                      (f"projection/{MODEL}/64/1/avx512", f"projection/{MODEL}/64/2/avx512",
                                       f"projection/{MODEL}/64../2../avx512", 0.95)):
            self.runs = Runs()
            self.runs[two]["of_peak"] = self.runs[one]["of_peak"] * (least + 1e-4)
            self.expect([])
            self.runs[two]["of_peak"] = self.runs[one]["of_peak"] * (least - 1e-4)
            self.expect([(goal, "thread scaling")])

    def test_beside_other_rows(self):
        for name, other, figure, least in (
                ("heads-32-8-dim-80/2048", "heads-32-8-dim-128/2048", "of_peak beside dim 128", 0.9),
                ("qwen3-0.6b-window-1024/8192", "qwen3-0.6b/4096", "of_peak beside 4096 tokens", 0.87)):
            self.runs = Runs()
            row, beside = (self.runs[f"prefill/f32/{shape}/1/avx2"] for shape in (name, other))
            goal = (row["name"], figure)
            row["of_peak"] = beside["of_peak"] * (least + 1e-4)
            self.assertEqual(self.expect([])[goal][0], f"{least + 1e-4:.4f}")
            row["of_peak"] = beside["of_peak"] * (least - 1e-4)
            self.expect([goal])
            self.runs.drop(other)
            self.assertEqual(judge(self.runs)[1][goal][1], "no run")

    def test_threads_below_1024_tokens(self):
        self.runs[f"prefill/{MODEL}/512/2/avx2"]["of_peak"] = 0.3
        self.expect([])

    def test_any_number_of_threads(self):
        four = copy.deepcopy(self.runs[f"prefill/{MODEL}/2048/2/avx512"])
        four["name"] = four["run_name"] = f"prefill/{MODEL}/2048/16/avx512"
        four["of_peak"] = 0.5
        self.runs.content["benchmarks"].append(four)
        goal = (f"prefill/{MODEL}/1024../2../avx512", "thread scaling")
        self.assertIn("16 threads, 2048 tokens", self.expect([goal])[goal][2])

    def test_growth(self):
        goal = (f"prefill/{MODEL}/1024..16384/1/avx512", "growth of time per FLOP")
        first = self.runs[f"prefill/{MODEL}/1024/1/avx512"]["GFLOP/s"]
        for tokens in (4096, 16384):  # in the middle, too
            row = self.runs[f"prefill/{MODEL}/{tokens}/1/avx512"]
            kept = row["GFLOP/s"]
            row["GFLOP/s"] = first / 1.0499
            self.expect([])
            row["GFLOP/s"] = first / 1.0501
            self.assertEqual(self.expect([goal])[goal][0], "1.0501")
            row["GFLOP/s"] = kept

    def test_exponents(self):
        for phase, tokens, cache, expected, other in (("prefill", (2048, 4096, 8192), "", 2, (1024, 16384)),
                                                      ("decode", (4096, 16384, 65536), "/cold", 1, (1024,))):
            goal = (f"{phase}/{MODEL}/{tokens[0]}..{tokens[-1]}/1/avx2{cache}", "exponent of time")
            for off, missed in ((-0.101, [goal]), (-0.099, []), (0.099, []), (0.101, [goal])):
                for count in tokens:
                    self.runs[f"{phase}/{MODEL}/{count}/1/avx2{cache}"]["real_time"] = 1e-6 * count ** (expected + off)
                for count in other:  # outside of the range
                    self.runs[f"{phase}/{MODEL}/{count}/1/avx2{cache}"]["real_time"] = 1
                lines = self.expect(missed)
                self.assertEqual(lines[goal][0], f"{expected + off:.4f}")
            for count in tokens:
                self.runs[f"{phase}/{MODEL}/{count}/1/avx2{cache}"]["real_time"] = 1e-6 * count**expected

    def test_exponent_is_of_least_squares(self):
        # Logarithms to base 2 at 11, 12 and 13: 0, 3, 3; the slope is 3/2 and not that of two neighbours.
        for count, time in ((2048, 1), (4096, 8), (8192, 8)):
            self.runs[f"prefill/{MODEL}/{count}/1/avx2"]["real_time"] = time
        goal = (f"prefill/{MODEL}/2048..8192/1/avx2", "exponent of time")
        self.assertEqual(self.expect([goal])[goal][0], "1.5000")

    def test_units_of_time(self):
        goal = (f"prefill/{MODEL}/2048..8192/1/avx2", "exponent of time")
        before = self.expect([])[goal][0]
        row = self.runs[f"prefill/{MODEL}/8192/1/avx2"]
        milliseconds = row["real_time"]
        for unit, factor in (("s", 1e-3), ("us", 1e3), ("ns", 1e6)):
            row.update(real_time=milliseconds * factor, time_unit=unit)
            self.assertEqual(self.expect([])[goal][0], before)

    def test_no_row_above_its_peak(self):
        goal = ("every row", "highest of_peak")
        row = self.runs["avx512/prefill_f32_f32/qk/12x32"]
        row["of_peak"] = 1.0
        self.expect([])
        row["of_peak"] = 1.0001
        self.assertIn(row["name"], self.expect([goal])[goal][2])

    def test_one_repetition_above_its_peak(self):
        row = self.runs["avx512/prefill_f32_f32/qk/12x32"]
        for value in (0.9, 1.01):
            self.runs.content["benchmarks"].append({**row, "of_peak": value, "repetition_index": 1})
        self.expect([("every row", "highest of_peak")])

    def test_not_a_number(self):
        name = f"prefill/{MODEL}/512/1/avx2"
        self.runs.drop("/2/")
        self.runs[name]["of_peak"] = math.nan
        self.expect([(name, "of_peak"), ("every row", "highest of_peak")])

    def test_failed_benchmark(self):
        name = f"decode/{MODEL}/16384/1/avx2/cold"
        row = self.runs[name]
        for key in ("GB/s", "of_bandwidth", "limit_GB/s", "real_time"):
            del row[key]
        row.update(error_occurred=True, error_message="the call failed")
        exponent = (f"decode/{MODEL}/4096..65536/1/avx2/cold", "exponent of time")
        lines = self.expect([(name, "of_bandwidth"), exponent, ("every row", "failed")])
        self.assertIn("the call failed", lines[name, "of_bandwidth"][2])

    def test_missing_counter(self):
        name = f"decode/{MODEL}/16384/1/avx2/cold"
        del self.runs[name]["of_bandwidth"]
        self.expect([(name, "of_bandwidth")])

    def repeated(self, name, values, aggregates=True):
        """The row `name` three times, with what Google Benchmark adds to that."""
        row = self.runs[name]
        self.runs.content["benchmarks"].remove(row)
        rows = [{**row, "repetitions": 3, "repetition_index": i, "of_peak": value} for i, value in enumerate(values)]
        if aggregates:
            for kind, value in (("mean", 0.1), ("median", sorted(values)[1]), ("stddev", 0.002), ("cv", 0.01)):
                rows.append({**row, "name": f"{name}_{kind}", "run_type": "aggregate", "aggregate_name": kind,
                             "of_peak": value, "real_time": row["real_time"] if kind in ("mean", "median") else 0})
        self.runs.content["benchmarks"] += rows

    def test_aggregates(self):
        name = f"prefill/{MODEL}/512/1/avx512"
        self.runs.drop("/2/")
        for aggregates in (True, False):
            with self.subTest(aggregates=aggregates):
                self.runs = Runs()
                self.runs.drop("/2/")
                self.repeated(name, [0.70, 0.75, 0.76], aggregates)
                self.assertEqual(self.expect([])[name, "of_peak"][0], "0.7500")
                self.runs.drop(name)
                self.runs.content["benchmarks"].append(fixture.entry(name, 4.0, computed_over_visible=1.0))
                self.repeated(name, [0.70, 0.73, 0.76], aggregates)
                self.expect([(name, "of_peak")])

    def test_only_aggregates(self):
        name = f"prefill/{MODEL}/512/1/avx512"
        self.runs.drop("/2/")
        self.repeated(name, [0.70, 0.75, 0.76])
        rows = self.runs.content["benchmarks"]
        rows[:] = [row for row in rows if row["name"] != name]
        self.assertEqual(self.expect([])[name, "of_peak"][0], "0.7500")

    def test_additions_to_names(self):
        name = f"prefill/{MODEL}/512/1/avx512"
        self.runs[name]["name"] = f"{name}/iterations:15/repeats:3/manual_time"
        self.assertEqual(self.expect([])[name, "of_peak"][1], "pass")

    def test_several_files(self):
        prefill, decode = Runs(), Runs()
        prefill.drop("^decode")
        decode.drop("^(?!decode)")
        status, lines = judge(prefill, decode)
        self.assertEqual((status, {result for _, result, _ in lines.values()}), (0, {"pass"}))
        # The same row in several: the median.
        name = f"decode/{MODEL}/16384/1/avx2/cold"
        others = [copy.deepcopy(decode.content) for _ in range(2)]
        for content, value in zip(others, (0.1, 0.61)):
            next(row for row in content["benchmarks"] if row["name"] == name)["of_bandwidth"] = value
        status, lines = judge(prefill, decode, *others)
        self.assertEqual((status, lines[name, "of_bandwidth"][0]), (0, "0.6100"))

    def test_a_file_counts_once(self):
        """However often its rows were repeated."""
        name = f"prefill/{MODEL}/512/1/avx512"
        self.runs.drop("/2/")
        self.repeated(name, [0.75, 0.77, 0.79])
        other = {"context": {}, "benchmarks": [fixture.entry(name, 4.0, of_peak=0.80, computed_over_visible=1.0)]}
        self.assertEqual(self.expect([], other)[name, "of_peak"][0], "0.7850")

    def test_runs_of_different_builds(self):
        other = fixture.run()
        other["context"]["tril_version"] = "0.2.0"
        status, out, error = judge_texts(json.dumps(self.runs.content), json.dumps(other))
        self.assertEqual((status, out, error.count("\n")), (2, "", 1))
        self.assertIn("0.2.0", error)

    def test_bad_input(self):
        good = json.dumps(self.runs.content)
        for text in ("", "{", "[]", "null", "3", "{}", '{"context": {}}', '{"context": {}, "benchmarks": []}',
                     '{"context": {}, "benchmarks": [3]}', '{"context": {}, "benchmarks": [{"name": "a"}]}',
                     '{"context": [], "benchmarks": [{"name": "a", "real_time": 1, "time_unit": "ms"}]}',
                     '{"context": {}, "benchmarks": [{"name": "a", "real_time": 0, "time_unit": "ms"}]}',
                     '{"context": {}, "benchmarks": [{"name": "a", "real_time": "1", "time_unit": "ms"}]}',
                     '{"context": {}, "benchmarks": [{"name": "a", "real_time": 1, "time_unit": "h"}]}',
                     '{"context": {}, "benchmarks": [{"name": 7, "real_time": 1, "time_unit": "ms"}]}',
                     good[:-1], b"\xff\xfe", "[" * 100000):
            for texts in ((text,), (good, text)):
                with self.subTest(text=text[:60], alone=len(texts) == 1):
                    status, out, error = judge_texts(*texts)
                    self.assertEqual((status, out, error.count("\n")), (2, "", 1), error)
                    self.assertIn(f"run{len(texts) - 1}.json", error)

    def test_files_that_are_none(self):
        for name in ("/nonexistent.json", "/"):
            result = subprocess.run([GOALS, name], capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (2, "", 1))

    def test_usage(self):
        self.assertEqual(subprocess.run([GOALS], capture_output=True, check=False).returncode, 2)
        shown = subprocess.run([GOALS, "--help"], capture_output=True, text=True, check=True)
        self.assertIn("usage: bench/goals", shown.stdout)


if __name__ == "__main__":
    GOALS = sys.argv.pop(1)
    unittest.main()
