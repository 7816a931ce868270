#!/usr/bin/env python3
"""Tests of the benchmark programs, as their users meet them.

usage: programs.py PROGRAM... [-- UNITTEST ARGUMENTS]
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAMS = []
SHORTEST = {  # of each program, what takes no time
    "kernels": "kernel/scalar/merge_f32",
    "prefill": "prefill/f32/gpt-2/128/1/scalar",
    "decode": "decode/f32/gpt-2/1024/1/scalar/warm",
    "projection": "projection/f32/qwen3-0.6b/64/1/sse42",
    "overhead": "overhead_plan/f32/one-head/1/1/scalar",
    "ladder": "ladder/f32/gpt-2/512/1/naive_vectorised",
}
COUNTERS = {
    "kernels": set(),
    "prefill": {"GFLOP/s", "peak_GFLOP/s", "of_peak", "speedup_vs_naive", "computed_over_visible", "workspace_MiB",
                "FLOP/B"},
    "decode": {"GB/s", "limit_GB/s", "of_bandwidth", "FLOP/B"},
    "projection": {"GFLOP/s", "peak_GFLOP/s", "of_peak"},
    "overhead": {"speedup_vs_naive"},
    "ladder": {"GFLOP/s", "peak_GFLOP/s", "speedup_vs_naive"},
}
NAME = re.compile(
    r"(prefill|decode|decode_bthd|projection|overhead|overhead_plan|overhead_run|ladder)/f32/[a-z0-9.-]+/\d+/\d+/\w+(/(cold|warm))?"
)


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=100)


class Programs(unittest.TestCase):
    def each(self):
        for program in PROGRAMS:
            name = Path(program).name.removeprefix("bench_")
            with self.subTest(name):
                yield program, name

    def test_report_what_they_measured(self):
        for program, name in self.each():
            with tempfile.NamedTemporaryFile(suffix=".json") as out:
                done = run(program, f"--benchmark_filter={SHORTEST[name]}", f"--benchmark_out={out.name}")
                self.assertEqual(done.returncode, 0, done.stderr)
                report = json.load(out)
            self.assertTrue(report["context"]["tril_version"] and report["context"]["cpu"])
            (row,) = report["benchmarks"]
            self.assertTrue(row["name"].startswith(SHORTEST[name]))
            self.assertNotIn("manual_time", row["name"])
            self.assertGreater(row["real_time"], 0)
            self.assertLessEqual(COUNTERS[name], set(row))
            for counter in COUNTERS[name]:
                self.assertGreater(row[counter], 0, counter)

    def test_names_have_one_form(self):
        for program, name in self.each():
            listed = run(program, "--benchmark_filter=.", "--benchmark_list_tests").stdout.split()
            self.assertEqual(len(listed), len(set(listed)))
            if name == "kernels":
                continue
            for benchmark in listed:
                plain = benchmark.split("/iterations:")[0]
                self.assertTrue(NAME.fullmatch(plain), plain)

    def test_refuse_what_they_cannot_do(self):
        for program, name in self.each():
            for wrong in (("--benchmark_filter=no-such-thing",), ("--nonsense",), ("--benchmark_filter=(",),
                          (f"--benchmark_filter={SHORTEST[name]}", "--benchmark_out=/no/such/folder/out.json")):
                done = run(program, *wrong)
                self.assertNotEqual(done.returncode, 0, wrong)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    PROGRAMS = arguments[:end]
    unittest.main(argv=[sys.argv[0], *arguments[end + 1:]])
