#!/usr/bin/env python3
"""Tests of `tril inspect` and `tril cost`.

usage: looks.py TRIL [UNITTEST ARGUMENTS]
"""

import json
import math
import re
import sys
import unittest

import command_line
from command_line import ToolTest, random_array, run


def softmax(scores):
    weights = [math.exp(s - max(scores)) for s in scores]
    return [w / sum(weights) for w in weights]


def bin_of(distance):
    """Index of the power of 4 that the distance reaches, counted from 1; 0 for none."""
    index = 0
    while 4**index <= abs(distance):
        index += 1
    return index


class Figures:
    """The figures of `tril inspect`, by the definition."""

    def __init__(self, q, k, scale, sees, heads):
        group = q.shape[2] // k.shape[2]
        self.dots, self.rows = [], []
        for b in range(q.shape[0]):
            for i in range(q.shape[1]):
                keys = [j for j in range(k.shape[1]) if sees(k.shape[1] - q.shape[1] + i, j)]
                for h in heads:
                    dots = [sum(q[b, i, h, c] * k[b, j, h // group, c] for c in range(q.shape[3])) for j in keys]
                    self.dots += dots
                    if len(keys) > 1:
                        self.rows.append((k.shape[1] - q.shape[1] + i, keys, softmax(dots),
                                          softmax([scale * s for s in dots])))

    def mean(self, figure):
        return sum(map(figure, self.rows)) / len(self.rows)

    def spread(self):
        mean = sum(self.dots) / len(self.dots)
        return math.sqrt(sum((s - mean) ** 2 for s in self.dots) / len(self.dots))

    def check(self, test, seen, scale):
        close = lambda a, b: test.assertAlmostEqual(a, b, delta=1e-6 * max(1, abs(b)))
        test.assertEqual((seen["rows"], seen["pairs"]), (len(self.rows), len(self.dots)))
        close(seen["spread"], self.spread())
        close(seen["scaled_spread"], abs(scale) * self.spread())
        close(seen["largest_score"], max(map(abs, self.dots)))
        for which, name in ((2, "unscaled"), (3, "scaled")):
            close(seen[name]["entropy"], self.mean(lambda r: -sum(w * math.log(w) for w in r[which] if w > 0)))
            close(seen[name]["largest_weight"], self.mean(lambda r: max(r[which])))
            close(seen[name]["saturated"], self.mean(lambda r: max(r[which]) > 0.99))
        close(seen["log_keys"], self.mean(lambda r: math.log(len(r[1]))))
        close(seen["first_key"], self.mean(lambda r: r[3][0] if r[1][0] == 0 else 0))
        for index, distance in enumerate(seen["distances"]):
            close(distance["mass"], self.mean(
                lambda r: sum(w for j, w in zip(r[1], r[3]) if bin_of(r[0] - j) == index)))
            close(distance["even"], self.mean(
                lambda r: sum(1 / len(r[1]) for j in r[1] if bin_of(r[0] - j) == index)))


class Inspect(ToolTest):
    def inspect(self, *arguments):
        done = run("inspect", *arguments, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_figures_are_those_of_the_scores(self):
        q, k = random_array(2, 21, 4, 9), random_array(2, 30, 2, 9, seed=2)
        files = ("--q", self.file("q.npy", q), "--k", self.file("k.npy", k))
        for flags, scale, sees in (
            ((), 1 / 3, lambda p, j: j <= p),
            (("--full",), 1 / 3, lambda p, j: True),
            (("--window", "5,0", "--scale", "0.5"), 0.5, lambda p, j: p - 5 <= j <= p),
            (("--scale", "-0.25"), -0.25, lambda p, j: j <= p),
        ):
            with self.subTest(flags):
                report = self.inspect(*files, *flags)
                self.assertEqual((report["rows"], report["rows_inspected"]), (168, 168))
                self.assertAlmostEqual(report["scale"], scale, places=6)
                Figures(q, k, scale, sees, range(4)).check(self, report["all"], scale)
                for h in range(4):
                    Figures(q, k, scale, sees, [h]).check(self, report["heads"][h], scale)

    def test_spread_of_normal_numbers_is_that_of_theory(self):
        report = self.inspect("--preset", "qwen3-0.6b", "--tokens", 256, "--rows", 512)
        # 2^16 scores and more: the standard error of their spread is below 1 %, of which keys share most.
        self.assertAlmostEqual(report["all"]["spread"] / math.sqrt(128), 1, delta=0.03)
        self.assertAlmostEqual(report["all"]["scaled_spread"], 1, delta=0.03)
        self.assertAlmostEqual(report["expected_spread"] / math.sqrt(128), 1, delta=0.01)
        self.assertGreater(report["all"]["unscaled"]["saturated"], 0.1)
        self.assertEqual(report["all"]["scaled"]["saturated"], 0)

    def test_text_shows_the_same_figures(self):
        arguments = ("--preset", "gpt-2", "--tokens", 40)
        seen = self.inspect(*arguments)["all"]
        text = run("inspect", *arguments, "--per-head").stdout
        self.assertTrue(text.startswith("gpt-2: 40 tokens, 40 keys, 12/12 heads, dim 64, causal, seed 1\n"
                                        "looked at 480 of 480 rows, 9840 (row, key) pairs\n"))
        self.assertRegex(text, rf"spread of the scores .* {seen['spread']:.4g} +{seen['scaled_spread']:.4g}\n")
        self.assertIn(f"{100 * seen['unscaled']['saturated']:.1f} %", text)
        self.assertIn("12 rows that see fewer than two keys", text)
        masses = re.findall(r"^(?:0|\d+ \.\.\. \d+) +(\d+\.\d) %", text, re.MULTILINE)
        self.assertAlmostEqual(sum(map(float, masses)), 100, delta=0.3)
        self.assertEqual(len(re.findall(r"^ +\d+ .*%$", text, re.MULTILINE)), 12)
        self.assertTrue(text.isascii())

    def test_numbers_that_are_none_do_no_harm(self):
        for value in (math.nan, math.inf):
            q = random_array(1, 4, 1, 3)
            q.values[5] = value
            files = ("--q", self.file("q.npy", q), "--k", self.file("k.npy", random_array(1, 4, 1, 3)))
            self.assertEqual(run("inspect", *files).returncode, 0)
            self.assertIsNone(self.inspect(*files)["all"]["spread"])

    def test_files_are_read_once(self):
        files = ("--q", self.file("q.npy", random_array(1, 4, 1, 3)),
                 "--k", self.file("k.npy", random_array(1, 4, 1, 3).bytes("<f8")))
        done = run("inspect", *files)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (0, 1), done.stderr)
        self.assertIn("--k: ", done.stderr)
        self.assertTrue(done.stdout.startswith(f"{files[1]} {files[3]}: 4 tokens"))

    def test_refuses_what_it_cannot_look_at(self):
        q = self.file("q.npy", random_array(1, 4, 4, 3))
        self.assert_refused("inspect", because="--preset: missing")
        self.assert_refused("inspect", "--q", q, because="--k: missing")
        self.assert_refused("inspect", "--q", q, "--k", q, "--preset", "gpt-2", because="--preset: not together")
        self.assert_refused("inspect", "--q", q, "--k", self.file("k.npy", random_array(1, 4, 3, 3)), because="k: ")
        self.assert_refused("inspect", "--preset", "gpt-5", because="qwen3-0.6b")
        self.assert_refused("inspect", "--preset", "gpt-2", "--rows", 0, because="--rows: 0 is not at least 1")
        self.assert_refused("inspect", "--preset", "gpt-2", "--full", "--causal", because="--full: not together")


class Cost(ToolTest):
    def cost(self, *arguments):
        done = run("cost", *arguments, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_counts_are_exact(self):
        report = self.cost("--preset", "qwen3-0.6b", "--tokens", 100, "--threads", 1)
        prefill, decode = report["calls"]
        self.assertEqual((prefill["name"], prefill["rows"], prefill["keys"]), ("prefill", 100, 100))
        self.assertEqual(prefill["visible_pairs"], 16 * 5050)
        self.assertEqual(prefill["flops"], 4 * 128 * 16 * 5050)
        self.assertEqual(prefill["kv_bytes"], 2 * 100 * 8 * 128 * 4)
        self.assertEqual((prefill["q_bytes"], prefill["out_bytes"]), (100 * 16 * 128 * 4,) * 2)
        self.assertGreater(prefill["workspace_bytes"], 0)
        self.assertEqual((decode["name"], decode["rows"], decode["keys"]), ("decode step", 1, 100))
        self.assertEqual(decode["flops"], 4 * 16 * 128 * 100)

    def test_shapes_of_ones_own(self):
        shape = ("--heads", "6/2", "--dim", 10, "--value-dim", 4, "--batch", 3, "--tokens", 8)
        (call,) = self.cost(*shape, "--keys", 20, "--full")["calls"]
        self.assertEqual(call["visible_pairs"], 3 * 6 * 8 * 20)
        self.assertEqual(call["flops"], 2 * (10 + 4) * call["visible_pairs"])
        self.assertEqual(call["kv_bytes"], 3 * 2 * 20 * (10 + 4) * 4)
        windowed = self.cost(*shape, "--window", "3,-1")["calls"]
        self.assertEqual([c["visible_pairs"] for c in windowed], [18 * (1 + 2 + 3 + 4 * 5), 18 * 4])
        chunk, decode = self.cost(*shape, "--keys", 20)["calls"]
        self.assertEqual((chunk["rows"], chunk["keys"], decode["rows"], decode["keys"]), (8, 20, 1, 20))
        self.assertEqual([c["visible_pairs"] for c in (chunk, decode)], [18 * sum(range(13, 21)), 18 * 20])

    def test_times_are_counts_over_limits(self):
        report = self.cost("--preset", "gpt-2", "--tokens", 64, "--isa", "scalar", "--threads", 1)
        self.assertEqual((report["isa"], report["threads"]), ("scalar", 1))
        for call in report["calls"]:
            moved = call["kv_bytes"] + call["q_bytes"] + call["out_bytes"]
            for time, count, limit in (("arithmetic_milliseconds", call["flops"], "peak_flops_per_second"),
                                       ("memory_milliseconds", moved, "read_bytes_per_second")):
                self.assertGreater(report[limit], 0)
                self.assertAlmostEqual(call[time] / (1e3 * count / report[limit]), 1, places=9)
            bound = "memory" if call["memory_milliseconds"] > call["arithmetic_milliseconds"] else "arithmetic"
            self.assertEqual(call["bound_by"], bound)

    def test_text_says_how_counts_come_about(self):
        text = run("cost", "--preset", "qwen3-0.6b", "--tokens", 2048).stdout
        self.assertTrue(text.startswith("qwen3-0.6b: 2048 tokens, 2048 keys, 16/8 heads, dim 128, causal; float32"))
        self.assertRegex(text, r"\nvisible pairs, over all heads +33570816 +32768\n")
        self.assertRegex(text, r"\nK and V read +16 MiB +16 MiB\n")
        self.assertIn("an unmasked prefill of T tokens: 8192 T^2; a decode step over T keys: 8192 T\n", text)
        self.assertTrue(text.isascii())

    def test_refuses_what_has_no_cost(self):
        for arguments, because in (
            ((), "--preset: missing"),
            (("--heads", "4/2"), "--dim: missing"),
            (("--preset", "gpt-2", "--dim", 4), "--preset: not together"),
            (("--heads", "4/3", "--dim", 8), "k: 3 heads do not divide q's 4"),
            (("--heads", "4/", "--dim", 8), "--heads: '' is not a number"),
            (("--heads", "0", "--dim", 8), "--heads: 0 is not at least 1"),
            (("--heads", 4, "--dim", 1 << 40), "dim"),
            (("--preset", "gpt-2", "--tokens", 1 << 62), ""),
            (("--preset", "gpt-2", "--isa", "nonsense"), "'nonsense'"),
            (("--preset", "gpt-2", "--threads", 0), "--threads: 0"),
            (("--preset", "gpt-2", "--full", "--causal"), "--full: not together"),
        ):
            with self.subTest(arguments):
                self.assert_refused("cost", *arguments, because=because)


if __name__ == "__main__":
    command_line.TRIL = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
