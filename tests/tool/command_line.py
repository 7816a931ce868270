#!/usr/bin/env python3
"""Tests of the command-line tool, as a user meets it.

usage: command_line.py TRIL TRIL_WITH_FAULTS [UNITTEST ARGUMENTS]
"""

import ast
import itertools
import json
import math
import os
import pty
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TRIL = FAULTY = None  # the two executables
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("TRIL_ISA", "NO_COLOR")}


def run(*arguments, tool=None, **environment):
    return subprocess.run(
        [tool or TRIL, *map(str, arguments)], capture_output=True, text=True, env={**ENVIRONMENT, **environment}
    )


def run_at_terminal(*arguments, stream, **environment):
    """What the tool writes to one of its streams if that is a terminal."""
    try:
        master, slave = pty.openpty()
    except OSError as error:
        raise unittest.SkipTest(f"no terminal to be had: {error}")
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: slave}
    process = subprocess.Popen(
        [TRIL, *map(str, arguments)], env={**ENVIRONMENT, "TERM": "xterm", **environment}, **streams
    )
    os.close(slave)
    seen = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other side is gone
            break
        if not piece:
            break
        seen += piece
    os.close(master)
    process.wait()
    return seen.decode()


def float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


class Array:
    """Values in C order, as a .npy file holds them."""

    def __init__(self, shape, values):
        self.shape, self.values = tuple(shape), list(values)
        assert len(self.values) == math.prod(self.shape)

    def __getitem__(self, index):
        at = 0
        for i, extent in zip(index, self.shape):
            at = at * extent + i
        return self.values[at]

    def transposed(self):
        """With its second and third axis swapped."""
        b, t, h, d = self.shape
        values = (self[i, j, l, c] for i in range(b) for l in range(h) for j in range(t) for c in range(d))
        return Array((b, h, t, d), values)

    def fortran_order(self):
        """The values with the first axis varying fastest."""
        indices = itertools.product(*(range(extent) for extent in reversed(self.shape)))
        return [self[tuple(reversed(index))] for index in indices]

    def bytes(self, dtype="<f4", order=False):
        header = f"{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {self.shape}, }}"
        header += " " * (-(len(header) + 11) % 64) + "\n"
        code = {"f2": "e", "f8": "d"}.get(dtype[1:], "f")
        return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + struct.pack(
            f"{dtype[0]}{len(self.values)}{code}", *(self.fortran_order() if order else self.values))


def safetensors(**tensors):
    """A .safetensors file of pairs (dtype, array)."""
    header, data = {}, b""
    for name, (dtype, array) in tensors.items():
        if dtype == "BF16":
            values = b"".join(struct.pack("<f", value)[2:] for value in array.values)
        else:
            values = struct.pack(f"<{len(array.values)}{dict(F16='e', F32='f', F64='d')[dtype]}", *array.values)
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def read_npy(path):
    data = Path(path).read_bytes()
    assert data[:8] == b"\x93NUMPY\1\0"
    end = 10 + struct.unpack_from("<H", data, 8)[0]
    header = ast.literal_eval(data[10:end].decode())
    assert header["descr"] == "<f4" and not header["fortran_order"]
    return Array(header["shape"], struct.unpack(f"<{(len(data) - end) // 4}f", data[end:]))


def random_array(*shape, seed=1):
    numbers = random.Random(f"{seed} {shape}")
    return Array(shape, (float32(numbers.gauss(0, 1)) for _ in range(math.prod(shape))))


def attention(q, k, v, causal=True, scale=None, window=(-1, -1), offset=None):
    """The definition, over [batch][tokens][heads][dim]."""
    batch, rows, heads, dim = q.shape
    keys, group = k.shape[1], q.shape[2] // k.shape[2]
    scale = float32(1 / math.sqrt(dim) if scale is None else scale)
    out = []
    for b in range(batch):
        for i in range(rows):
            position = (keys - rows if offset is None else offset) + i
            seen = [j for j in range(keys) if not (causal and j > position)
                    and (window[0] < 0 or j >= position - window[0]) and (window[1] < 0 or j <= position + window[1])]
            for h in range(heads):
                scores = [scale * sum(q[b, i, h, c] * k[b, j, h // group, c] for c in range(dim)) for j in seen]
                weights = [math.exp(s - max(scores)) for s in scores]
                out += [sum(w * v[b, j, h // group, c] for w, j in zip(weights, seen)) / sum(weights) if seen else 0.0
                        for c in range(v.shape[3])]
    return Array((batch, rows, heads, v.shape[3]), out)


class ToolTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def file(self, name, content):
        path = self.directory / name
        path.write_bytes(content.bytes() if isinstance(content, Array) else content)
        return path

    def inputs(self, q, k, v):
        """The flags for three arrays."""
        return [part for name, array in zip("qkv", (q, k, v))
                for part in (f"--{name}", self.file(f"{name}.npy", array))]

    def compare(self, *arguments, status=0, tool=None):
        done = run("compare", *arguments, "--json", tool=tool)
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def library_output(self, *arguments):
        out = self.directory / "out.npy"
        report = self.compare(*arguments, "--out-npy", out)
        return read_npy(out), report

    def assert_close(self, array, wanted):
        self.assertEqual(array.shape, wanted.shape)
        for a, b in zip(array.values, wanted.values):
            self.assertLess(abs(a - b), 1e-5)

    def assert_refused(self, *arguments, because, start="", tool=None, **environment):
        done = run(*arguments, tool=tool, **environment)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, rf"\Atril: {re.escape(start)}[^\n]+\n\Z")
        self.assertIn(because, done.stderr)


SMALL = ("--preset", "gpt-2", "--tokens", 8)


class Info(ToolTest):
    def test_shows_what_there_is(self):
        done = run("info")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(run("--version").stdout.strip(), done.stdout)
        self.assertRegex(done.stdout, r"arithmetic version \d+\n")
        self.assertRegex(done.stdout, r"\n.+, \d+ usable cores\n")
        isas = re.findall(r"^(\w+) +(?:runs it|does not) +(?:un)?fused", done.stdout, re.MULTILINE)
        self.assertEqual(isas[0], "scalar")
        chosen = re.findall(r"^(\w+) .*<- chosen$", done.stdout, re.MULTILINE)
        self.assertEqual(len(chosen), 1)
        self.assertRegex(done.stdout, rf"\n  {chosen[0]}/qk_f32_f32/\d+x\d+\n")

    def test_names_the_kernels_of_the_chosen_one(self):
        done = run("info", TRIL_ISA="scalar")
        self.assertRegex(done.stdout, r"\nscalar .*2 rows x 16 keys .*<- chosen\n")
        self.assertIn("\n  scalar/qk_f32_f32/2x16\n", done.stdout)

    def test_tells_what_this_machine_does_not_run(self):
        self.assertRegex(run("info", tool=FAULTY).stdout, r"\nunsupported +does not ")

    def test_refuses_a_choice_that_is_not_there(self):
        self.assert_refused("info", because="TRIL_ISA: 'nonsense' is not in this build", TRIL_ISA="nonsense")


class Report(ToolTest):
    def test_json_is_one_object_of_known_shape(self):
        report = self.compare(*SMALL, "--seed", 5)
        self.assertRegex(report["version"], r"^\d+\.\d+\.\d+$")
        self.assertTrue(report["cpu"])
        self.assertEqual(report["source"], "gpt-2")
        self.assertEqual(report["seed"], 5)
        self.assertEqual(report["problem"], {
            "batch": 1, "tokens": 8, "keys": 8, "q_heads": 12, "kv_heads": 12, "dim": 64, "value_dim": 64,
            "causal": True, "window": [-1, -1], "query_offset": None, "scale": None})
        self.assertEqual((report["rows"], report["rows_compared"]), (96, 96))
        self.assertEqual((report["pairs"], report["pairs_compared"]), (12 * 36, 12 * 36))
        self.assertEqual((report["left_out"], report["expect"], report["passed"]), ([], None, True))
        numbers = ("max_abs", "rms", "max_ulp_vs_naive", "bound_used", "bound_used_near_zero", "lse_bound_used",
                   "milliseconds", "pairs", "speedup_vs_naive")
        for result in report["results"]:
            self.assertEqual(set(result), {"name", "isa", "threads", "within_bound", "bit_identical", *numbers})
            self.assertIs(result["within_bound"], True)
            for name in numbers:
                self.assertIsInstance(result[name], (int, float), name)
                self.assertGreaterEqual(result[name], 0, name)

    def test_lists_the_textbook_the_canonical_order_and_every_isa(self):
        isas = re.findall(r"^(\w+) +runs it", run("info").stdout, re.MULTILINE)
        results = self.compare(*SMALL)["results"]
        self.assertEqual([r["name"] for r in results[:4]],
                         ["naive_masked", "naive_truncated", "naive_vectorised", "canonical_unfused"])
        self.assertEqual([r["isa"] for r in results if r["name"] == "tril"], isas)
        for r in results:
            self.assertEqual(r["bit_identical"], None if r["name"].startswith("naive") else True)
            self.assertEqual(r["isa"] is None, r["name"] != "tril")

    def test_errors_are_those_of_the_output(self):
        q, k, v = random_array(1, 7, 4, 5), random_array(1, 9, 2, 5), random_array(1, 9, 2, 3)
        out, report = self.library_output(*self.inputs(q, k, v), "--isa", "scalar")
        errors = [abs(a - b) for a, b in zip(out.values, attention(q, k, v).values)]
        library = report["results"][-1]
        self.assertGreater(max(errors), 0)
        self.assertAlmostEqual(library["max_abs"] / max(errors), 1, places=5)
        rms = math.sqrt(sum(e * e for e in errors) / len(errors))
        self.assertAlmostEqual(library["rms"] / rms, 1, places=5)
        self.assertLess(library["bound_used"], 0.5)
        self.assertGreater(library["bound_used"], 1e-4)

    def test_speed_up_is_over_naive_per_pair(self):
        report = self.compare("--preset", "gpt-2", "--tokens", 64, "--rows", 100)
        per_pair = {r["name"] + str(r["isa"]): r["milliseconds"] / r["pairs"] for r in report["results"]}
        for r in report["results"]:
            own = per_pair[r["name"] + str(r["isa"])]
            self.assertAlmostEqual(r["speedup_vs_naive"] / (per_pair["naive_truncatedNone"] / own), 1, places=6)

    def test_text_shows_the_same_figures(self):
        arguments = (*SMALL, "--isa", "scalar", "--rows", 50)
        results = self.compare(*arguments)["results"]
        text = run("compare", *arguments).stdout
        self.assertIn("gpt-2: 8 tokens, 8 keys, 12/12 heads, dim 64, causal, seed 1\n", text)
        lines = text.split("\n\n")[1].splitlines()
        # Columns are at least two blanks apart.
        titles = re.split(r" {2,}", lines[0])
        self.assertEqual(len(lines) - 1, len(results))
        for line, result in zip(lines[1:], results):
            cells = dict(zip(titles, re.split(r" {2,}", line)))
            self.assertEqual(cells["implementation"], result["name"])
            self.assertEqual(cells["isa"], result["isa"] or "-")
            self.assertEqual(cells["max error"], f"{result['max_abs']:.1e}")
            self.assertEqual(cells["rms error"], f"{result['rms']:.1e}")
            for title, share in (("of bound", "bound_used"), ("near 0", "bound_used_near_zero")):
                self.assertAlmostEqual(float(cells[title].rstrip(" %")), 100 * result[share], delta=0.05)
            self.assertEqual(cells["ulp"], str(result["max_ulp_vs_naive"]))
            self.assertEqual(cells["bits"], "-" if result["bit_identical"] is None else "same")

    def test_colours_are_for_terminals_that_want_them(self):
        self.assertNotIn("\033", run("compare", *SMALL).stdout)
        self.assertIn("\033[32msame", run_at_terminal("compare", *SMALL, stream="stdout"))
        self.assertNotIn("\033", run_at_terminal("compare", *SMALL, stream="stdout", NO_COLOR="1"))
        self.assertNotIn("\033", run_at_terminal("compare", *SMALL, stream="stdout", TERM="dumb"))

    def test_progress_is_for_terminals_and_long_work(self):
        long = ("compare", "--preset", "bert-base", "--tokens", 768, "--isa", "scalar")
        self.assertRegex(run_at_terminal(*long, stream="stderr"), r"\r[^\r\n]+: \d+ (%|s)")
        self.assertEqual(run_at_terminal("compare", *SMALL, stream="stderr"), "")
        self.assertEqual(run(*long).stderr, "")

    def test_what_cannot_be_printed_is_told(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([TRIL, "info"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (2, "tril: cannot write to the standard output\n"))


class Presets(ToolTest):
    SHAPES = {  # query heads, KV heads, dim, value dim, causal, window, scale
        "qwen3-0.6b": (16, 8, 128, 128, True, -1, None),
        "qwen3-8b": (32, 8, 128, 128, True, -1, None),
        "llama-3.1-8b": (32, 8, 128, 128, True, -1, None),
        "mistral-7b": (32, 8, 128, 128, True, 4095, None),
        "gemma-2-9b": (16, 8, 256, 256, True, -1, None),
        "phi-3-mini": (32, 32, 96, 96, True, -1, None),
        "gpt-2": (12, 12, 64, 64, True, -1, None),
        "bert-base": (12, 12, 64, 64, False, -1, None),
        "whisper-small": (12, 12, 64, 64, False, -1, None),
        "deepseek-v3": (128, 1, 576, 512, True, -1, float32(1 / math.sqrt(192))),
    }

    def test_have_the_shapes_of_their_models(self):
        for name, (q_heads, kv_heads, dim, value_dim, causal, window, scale) in self.SHAPES.items():
            with self.subTest(name):
                problem = self.compare("--preset", name, "--tokens", 3)["problem"]
                self.assertEqual(
                    [problem[key] for key in ("q_heads", "kv_heads", "dim", "value_dim", "causal", "window")],
                    [q_heads, kv_heads, dim, value_dim, causal, [window, -1]])
                if scale is None:
                    self.assertIsNone(problem["scale"])
                else:
                    self.assertEqual(float32(problem["scale"]), scale)

    def test_are_all_named_in_the_help_and_when_one_is_unknown(self):
        for name in self.SHAPES:
            self.assertIn(f"  {name} ", run("compare", "--help").stdout)
            self.assert_refused("compare", "--preset", "gpt-5", because=name)

    def test_take_512_tokens_unless_told_otherwise(self):
        self.assertEqual(self.compare("--preset", "gpt-2", "--isa", "scalar", "--rows", 1)["problem"]["tokens"], 512)

    def test_repeat_with_their_seed(self):
        first, again, other = (self.library_output(*SMALL, *seed)[0].values
                               for seed in ((), ("--seed", 1), ("--seed", 2)))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)


class Flags(ToolTest):
    """Each flag against the definition, on files whose axes all differ."""

    def setUp(self):
        super().setUp()
        self.q, self.k, self.v = random_array(2, 3, 6, 5), random_array(2, 7, 2, 5), random_array(2, 7, 2, 4)

    def check(self, *arguments, **options):
        out, report = self.library_output(*self.inputs(self.q, self.k, self.v), *arguments)
        self.assert_close(out, attention(self.q, self.k, self.v, **options))
        return report["problem"]

    def test_files_are_causal_unless_told_otherwise(self):
        problem = self.check()
        self.assertEqual(problem, {"batch": 2, "tokens": 3, "keys": 7, "q_heads": 6, "kv_heads": 2, "dim": 5,
                                   "value_dim": 4, "causal": True, "window": [-1, -1], "query_offset": None,
                                   "scale": None})
        self.check("--causal")

    def test_full(self):
        self.assertIs(self.check("--full", causal=False)["causal"], False)
        self.assertIs(self.compare("--preset", "gpt-2", "--tokens", 4, "--full")["problem"]["causal"], False)
        self.assertIs(self.compare("--preset", "bert-base", "--tokens", 4, "--causal")["problem"]["causal"], True)

    def test_scale(self):
        self.assertEqual(self.check("--scale", 2.5, scale=2.5)["scale"], 2.5)
        self.check("--scale", "-1", scale=-1.0)
        self.check("--scale", 0, scale=0.0)

    def test_window(self):
        self.assertEqual(self.check("--window", "1,-1", window=(1, -1))["window"], [1, -1])
        self.check("--window", "-1,0", window=(-1, 0))
        self.check("--full", "--window", "2,1", causal=False, window=(2, 1))
        self.check("--full", "--window=-1,1", causal=False, window=(-1, 1))
        problem = self.compare("--preset", "mistral-7b", "--tokens", 4, "--window", "1,-1")["problem"]
        self.assertEqual(problem["window"], [1, -1])

    def test_query_offset(self):
        self.assertEqual(self.check("--query-offset", 0, offset=0)["query_offset"], 0)
        self.check("--query-offset", 5, offset=5)
        self.check("--query-offset", -2, offset=-2)  # rows that see nothing

    def test_layout(self):
        wanted = attention(self.q, self.k, self.v)
        flags = self.inputs(self.q.transposed(), self.k.transposed(), self.v.transposed())
        out, report = self.library_output(*flags, "--layout", "bhtd")
        self.assert_close(out, wanted.transposed())
        self.assertEqual((report["problem"]["tokens"], report["problem"]["q_heads"]), (3, 6))
        self.check("--layout", "bthd")

    def test_one_sequence_may_go_without_its_axis(self):
        q, k, v = (Array((1, *a.shape[1:]), a.values[: len(a.values) // 2]) for a in (self.q, self.k, self.v))
        wanted = attention(q, k, v)
        flags = self.inputs(*(Array(a.shape[1:], a.values) for a in (q, k, v)))
        out, _ = self.library_output(*flags)
        self.assert_close(out, Array(wanted.shape[1:], wanted.values))

    def test_one_head_may_go_without_its_axis(self):
        q, k, v = (random_array(1, tokens, 1, dim) for tokens, dim in ((3, 5), (7, 5), (7, 4)))
        wanted = attention(q, k, v)
        for layout in ("bthd", "bhtd"):
            flags = self.inputs(*(Array((a.shape[1], a.shape[3]), a.values) for a in (q, k, v)))
            out, report = self.library_output(*flags, "--layout", layout)
            self.assert_close(out, Array((3, 4), wanted.values))
            self.assertEqual([report["problem"][key] for key in ("tokens", "keys", "q_heads")], [3, 7, 1])
            self.compare(*flags, "--layout", layout, "--expect", self.directory / "out.npy")

    def test_isa(self):
        def isas(*arguments):
            return [r["isa"] for r in self.compare(*SMALL, *arguments)["results"] if r["isa"]]

        self.assertEqual(isas("--isa", "scalar"), ["scalar"])
        every = isas()
        self.assertEqual(isas("--isa", ",".join(reversed(every))), every)

    def test_threads(self):
        results = self.compare(*SMALL, "--threads", 2)["results"]
        threads = [(r["isa"], r["threads"]) for r in results if r["isa"]]
        self.assertEqual(threads[:2], [("scalar", 1), ("scalar", 2)])
        self.assertEqual([t for _, t in threads], [1, 2] * (len(threads) // 2))
        self.assertEqual({r["threads"] for r in self.compare(*SMALL)["results"]}, {1})

    def test_rows(self):
        report = self.compare(*SMALL, "--rows", 20)
        self.assertEqual((report["rows"], report["rows_compared"]), (96, 20))
        self.assertEqual(report["pairs"], 12 * 36)
        self.assertLess(report["pairs_compared"], report["pairs"])
        for r in report["results"]:
            self.assertEqual(r["pairs"], report["pairs"] if r["name"] == "tril" else report["pairs_compared"])
        text = run("compare", *SMALL, "--rows", 20).stdout
        self.assertIn("20 of 96 rows\n", text)
        self.assertIn(f"{report['pairs_compared']} of {report['pairs']} pairs", text)
        self.assertNotIn(" pairs", run("compare", *SMALL).stdout)
        self.assertEqual(self.compare(*SMALL, "--rows", 1000)["rows_compared"], 96)

    def test_help(self):
        for arguments in (("--help",), ("info", "--help"), ("compare", "--help"), ("compare", "-h")):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("Usage: tril", done.stdout)
        for line in run("compare", "--help").stdout.splitlines():
            self.assertLessEqual(len(line), 120)


class Files(ToolTest):
    def test_output_comes_back_as_expected(self):
        out = self.directory / "out.npy"
        for layout in ("bthd", "bhtd"):
            flags = [*self.inputs(random_array(2, 3, 4, 5), random_array(2, 3, 4, 5, seed=2),
                                  random_array(2, 3, 4, 6)), "--layout", layout]
            self.compare(*flags, "--out-npy", out)
            expect = self.compare(*flags, "--expect", out)["expect"]
            self.assertEqual(expect, {"file": str(out), "within_bound": True, "max_abs": 0, "rms": 0, "bound_used": 0})
        self.assertEqual(sorted(os.listdir(self.directory)), ["k.npy", "out.npy", "q.npy", "v.npy"])

    def check_converted(self, flags, notes, wanted):
        """Runs on files that need a note each, and compares the output with that of float32 files."""
        out = self.directory / "converted.npy"
        done = run("compare", *flags, "--isa", "scalar", "--out-npy", out)
        self.assertEqual((done.returncode, done.stderr), (0, "".join(f"tril: {note}\n" for note in notes)))
        self.assertEqual(read_npy(out).values, wanted.values)

    def test_other_types_and_orders_are_computed_with_as_float32(self):
        exact = random.Random(1)
        q, k, v = (Array((2, 3, 4, 5), (exact.randint(-64, 64) / 32 for _ in range(120))) for _ in "qkv")
        wanted, _ = self.library_output(*self.inputs(q, k, v), "--isa", "scalar")
        for end in "<>":
            for order in (False, True):
                flags = self.inputs(q.bytes(f"{end}f2", order), k.bytes(f"{end}f4", order), v.bytes(f"{end}f8", order))
                self.check_converted(flags, (f"--q: {flags[1]}: float16, widened to float32",
                                             f"--v: {flags[5]}: float64, rounded to float32"), wanted)
        expect = self.file("expect.npy", wanted.bytes("<f8"))
        flags = [*self.inputs(q, k, v), "--expect", expect]
        self.check_converted(flags, (f"--expect: {expect}: float64, rounded to float32",), wanted)

    def test_what_float32_cannot_hold_is_told(self):
        q, k = random_array(1, 1, 1, 2), random_array(1, 2, 1, 2)
        v = Array((1, 2, 1, 2), [1e300, 0, -1e39, math.inf])
        flags = self.inputs(q, k, v.bytes("<f8"))
        done = run("compare", *flags, "--isa", "scalar")
        self.assertEqual(done.stderr, f"tril: --v: {flags[5]}: float64, rounded to float32; "
                                      "2 of its finite values became infinite\n")

    def test_tensors_of_safetensors(self):
        exact = random.Random(2)
        q, k, v = (Array((2, 3, 4, 5), (exact.randint(-64, 64) / 32 for _ in range(120))) for _ in "qkv")
        wanted, _ = self.library_output(*self.inputs(q, k, v), "--isa", "scalar")
        layer = self.file("a:b.safetensors", safetensors(
            **{"layers.0:k": ("BF16", k), "v": ("F64", v), "q": ("F32", q), "q16": ("F16", q), "out": ("F32", wanted)}))
        flags = ["--k", f"{layer}:layers.0:k", "--v", f"{layer}:v", "--expect", f"{layer}:out"]
        notes = (f"--k: {layer}:layers.0:k: bfloat16, widened to float32",
                 f"--v: {layer}:v: float64, rounded to float32")
        self.check_converted(["--q", f"{layer}:q", *flags], notes, wanted)
        self.check_converted(["--q", f"{layer}:q16", *flags],
                             (f"--q: {layer}:q16: float16, widened to float32", *notes), wanted)
        report = json.loads(run("compare", "--q", f"{layer}:q", *flags, "--json").stdout)
        self.assertEqual(report["expect"]["file"], f"{layer}:out")

    def test_a_file_may_have_a_colon_in_its_name(self):
        q = random_array(1, 2, 1, 4)
        flags = self.inputs(q, q, q)
        for name in ("1:2.npy", "a.safetensors:q", "a.safetensors:q.npy"):
            flags[1] = self.file(name, q)
            self.compare(*flags, "--isa", "scalar")

    def test_expected_output_may_be_off_by_twice_the_bound(self):
        q, k, v = (random_array(1, 4, 2, 8, seed=seed) for seed in (1, 2, 3))
        flags = [*self.inputs(q, k, v), "--isa", "scalar"]
        out, _ = self.library_output(*flags)

        def expect(difference, status):
            at = 13
            values = [*out.values[:at], out.values[at] + difference, *out.values[at + 1:]]
            path = self.file("expect.npy", Array(out.shape, values))
            report = self.compare(*flags, "--expect", path, status=status)
            self.assertEqual(report["passed"], status == 0)
            return report["expect"], abs(float32(values[at]) - out.values[at])

        small, difference = expect(1e-5, 0)
        self.assertAlmostEqual(small["max_abs"], difference, places=12)
        self.assertAlmostEqual(small["rms"], difference / math.sqrt(64), places=12)
        allowed = difference / small["bound_used"]
        within, _ = expect(0.98 * allowed, 0)
        self.assertTrue(within["within_bound"])
        beyond, _ = expect(1.02 * allowed, 1)
        self.assertFalse(beyond["within_bound"])
        self.assertLess(allowed, 1e-2)
        self.assertLess(abs(attention(q, k, v).values[13] - out.values[13]), allowed)

    def test_wrong_expected_output_is_told(self):
        flags = self.inputs(*(random_array(1, 4, 2, 8, seed=seed) for seed in (1, 2, 3)))
        out, _ = self.library_output(*flags)
        added = Array(out.shape, [x + 1 for x in out.values])
        done = run("compare", *flags, "--expect", self.file("expect.npy", added))
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("expect.npy: a difference is beyond the bound\n", done.stdout)
        shifted = Array(out.shape, out.values[1:] + out.values[:1])
        self.compare(*flags, "--expect", self.file("expect.npy", shifted), status=1)
        nothing = Array(out.shape, [math.nan] * len(out.values))
        self.compare(*flags, "--expect", self.file("expect.npy", nothing), status=1)

    def test_broken_bound_is_told(self):
        # Three values near the largest float32: their sum overflows before the division, as is documented.
        flags = self.inputs(Array((1, 1, 1, 1), [0]), Array((1, 3, 1, 1), [0, 0, 0]), Array((1, 3, 1, 1), [3e38] * 3))
        report = self.compare(*flags, status=1)
        self.assertFalse(report["passed"])
        for r in report["results"]:
            if r["name"] == "tril":
                self.assertEqual((r["within_bound"], r["bit_identical"]), (False, True))
        done = run("compare", *flags)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("FAILED: tril, scalar, threads: 1: an error is beyond its bound\n", done.stdout)

    def test_what_no_row_sees_may_be_anything(self):
        q, k, v = random_array(1, 3, 1, 4), random_array(1, 3, 1, 4, seed=2), random_array(1, 3, 1, 4, seed=3)
        v.values[-4:] = [math.nan, math.inf, -math.inf, 1e38]
        out, _ = self.library_output(*self.inputs(q, k, v), "--query-offset", -1)
        for value in out.values:
            self.assertTrue(math.isfinite(value))


class Projection(ToolTest):
    def setUp(self):
        super().setUp()
        # 2 sequences of 3 tokens, 2 heads of 4: 8 elements to 5.
        self.flags = self.inputs(*(random_array(2, 3, 2, 4, seed=seed) for seed in (1, 2, 3)))
        self.weight = random_array(5, 8, seed=4)
        self.wo = self.file("w.npy", self.weight)

    def test_is_compared_by_every_instruction_set_and_number_of_threads(self):
        report = self.compare(*self.flags, "--wo", self.wo, "--threads", 2)
        found = report["projection"]
        self.assertEqual([found[key] for key in ("file", "in", "out", "rows", "rows_compared")],
                         [str(self.wo), 8, 5, 6, 6])
        naive, *tril = found["results"]
        self.assertEqual((naive["name"], naive["within_bound"], naive["pairs"]), ("naive", True, 6 * 5))
        self.assertEqual([(r["isa"], r["threads"]) for r in tril],
                         [(r["isa"], r["threads"]) for r in report["results"] if r["name"] == "tril"])
        for r in tril:
            self.assertEqual((r["within_bound"], r["bit_identical"], r["pairs"]), (True, True, 6 * 5))
        self.assertTrue(report["passed"])

    def test_errors_are_those_of_outputs_and_bias(self):
        # A sum of 2^20 and little is rounded, by up to 2^-4.
        bias = self.file("b.npy", Array((5,), [0, 0, 2.0**20, 0, 0]))
        flags = [*self.flags, "--isa", "scalar", "--wo", self.wo]
        without = self.compare(*flags)["projection"]["results"][-1]
        self.assertLess(without["max_abs"], 1e-6)
        report = self.compare(*flags, "--wo-bias", bias)["projection"]
        self.assertEqual(report["file"], f"{self.wo} {bias}")
        self.assertGreater(report["results"][-1]["max_abs"], 2.0**-8)
        self.assertLessEqual(report["results"][-1]["max_abs"], 2.0**-4)

    def test_takes_the_heads_of_a_token_together_in_either_layout(self):
        # One token of two heads, of which W takes each element: exact, unless a head is read from the wrong place.
        values = random_array(1, 1, 2, 4, seed=3)
        turned = Array((1, 2, 1, 4), values.values)
        pick = self.file("pick.npy", Array((8, 8), [float(i == j) for i in range(8) for j in range(8)]))
        for layout, array in (("bthd", values), ("bhtd", turned)):
            report = self.compare(*self.inputs(array, array, array), "--layout", layout, "--wo", pick)
            for r in report["projection"]["results"]:
                self.assertEqual(r["max_abs"], 0)

    def test_text_shows_the_same(self):
        done = run("compare", *self.flags, "--wo", self.wo)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(f"projection of that output by {self.wo}, 8 to 5: 6 of 6 rows", done.stdout)
        self.assertRegex(done.stdout.split("projection of that")[1], r"\ntril +scalar +1 ")

    def test_bad_weights_are_refused(self):
        bias = self.file("b.npy", random_array(4))
        refused = {
            "--wo-bias: needs --wo": ("--wo-bias", bias),
            f"--wo-bias: {bias}: its shape is (4,), not (5,)": ("--wo", self.wo, "--wo-bias", bias),
            "--wo: ": ("--wo", self.directory / "missing.npy"),
            "its shape is (4,), not of 2 axes": ("--wo", bias),
            "takes 6 elements, but an output has 2 heads of 4": ("--wo", self.file("narrow.npy", random_array(5, 6))),
            "truncated": ("--wo", self.file("short.npy", self.weight.bytes()[:-1])),
        }
        for because, flags in refused.items():
            with self.subTest(because):
                out = self.directory / "out.npy"
                self.assert_refused("compare", *self.flags, *flags, "--out-npy", out, because=because)
                self.assertFalse(out.exists())


class Faults(ToolTest):
    def result(self, isa):
        report = self.compare(*SMALL, "--isa", isa, tool=FAULTY, status=1)
        self.assertFalse(report["passed"])
        return report["results"][-1]

    def test_a_wrong_bit_is_found(self):
        r = self.result("wrong_bits")
        self.assertEqual((r["within_bound"], r["bit_identical"]), (True, False))
        done = run("compare", *SMALL, tool=FAULTY)
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED: tril, wrong_bits, threads: 1: bits differ from the canonical order\n", done.stdout)

    def test_a_wrong_value_is_found(self):
        r = self.result("wrong_values")
        self.assertEqual((r["within_bound"], r["bit_identical"]), (False, False))
        self.assertAlmostEqual(r["max_abs"], 0.125, places=5)
        self.assertGreater(r["bound_used"], 1)

    def test_a_row_that_is_never_written_is_found(self):
        self.assertFalse(self.result("missing_rows")["within_bound"])
        # Nor does it pass for what another instruction set left there.
        report = self.compare(*SMALL, "--isa", "missing_rows,scalar", "--threads", 2, tool=FAULTY, status=1)
        errors = [r["max_abs"] for r in report["results"] if r["isa"] == "missing_rows"]
        self.assertEqual(errors, [None, None])  # infinite

    def test_faults_of_a_projection_are_found(self):
        weight = self.file("w.npy", random_array(20, 12 * 64))
        for isa, within in (("wrong_bits", True), ("wrong_values", False), ("missing_rows", False)):
            report = self.compare(*SMALL, "--isa", f"{isa},scalar", "--wo", weight, tool=FAULTY, status=1)
            _, wrong, right = report["projection"]["results"]
            self.assertEqual((wrong["isa"], wrong["within_bound"], wrong["bit_identical"]), (isa, within, False))
            self.assertEqual((right["isa"], right["within_bound"], right["bit_identical"]), ("scalar", True, True))
        done = run("compare", *SMALL, "--wo", weight, tool=FAULTY)
        self.assertIn("FAILED: projection by tril, wrong_bits, threads: 1: bits differ from the canonical order\n",
                      done.stdout)

    def test_others_pass_beside_them(self):
        report = self.compare(*SMALL, tool=FAULTY, status=1)
        for r in report["results"]:
            if r["name"] == "tril":
                self.assertEqual(r["bit_identical"], not r["isa"].startswith(("wrong", "missing")))


class BadInput(ToolTest):
    def test_commands(self):
        self.assert_refused(because="subcommand")
        self.assert_refused("compute", because="compute")
        self.assert_refused("info", "--full", because="--full")
        self.assert_refused("compare", "--nonsense", because="--nonsense")
        self.assert_refused("compare", *SMALL, "extra", because="extra")

    def test_numbers(self):
        for tokens in ("0", "-1", "1e3", "x", "", "10000000000", "9223372036854775807", "99999999999999999999"):
            self.assert_refused("compare", "--preset", "gpt-2", "--tokens", tokens, because="--tokens")
        for flag in ("--rows", "--threads"):
            for value in ("0", "-1", "x"):
                self.assert_refused("compare", *SMALL, flag, value, because=flag)
        self.assert_refused("compare", *SMALL, "--threads", 100000, because="threads: 100000")
        self.assert_refused("compare", *SMALL, "--seed", -1, because="--seed")
        self.assert_refused("compare", *SMALL, "--query-offset", 1 << 31, because="--query-offset")
        for scale in ("inf", "nan", "1e39", "x"):
            self.assert_refused("compare", *SMALL, "--scale", scale, because="scale")
        for window in ("1", "1,", ",1", "1,2,3", "1, 2", "a,b", "1;2", "", "99999999999999999999,0"):
            self.assert_refused("compare", *SMALL, "--window", window, because="--window")
        self.assert_refused("compare", *SMALL, "--window", "-2,0", because="window_left")
        self.assert_refused("compare", *SMALL, "--window", "0,-2", because="window_right")

    def test_flags_that_contradict_each_other(self):
        flags = self.inputs(*[random_array(1, 2, 2, 4)] * 3)
        self.assert_refused("compare", because="--preset")
        self.assert_refused("compare", "--preset", "gpt-2", *flags, because="--preset: not together with --q")
        self.assert_refused("compare", *SMALL, "--full", "--causal", because="--full: not together with --causal")
        self.assert_refused("compare", *SMALL, "--layout", "bthd", because="--layout")
        self.assert_refused("compare", *flags, "--tokens", 4, because="--tokens")
        for i in (0, 2, 4):
            some = flags[:i] + flags[i + 2:]
            self.assert_refused("compare", *some, because=f"{flags[i]}: missing")
        self.assert_refused("compare", *flags, "--layout", "bdth", because="'bdth'")
        self.assert_refused("compare", *SMALL, "--preset", "gpt-2", because="--preset")

    def test_instruction_sets(self):
        self.assert_refused("compare", *SMALL, "--isa", "mmx", because="'mmx' is not in this build, which has scalar")
        self.assert_refused("compare", *SMALL, "--isa", "scalar,", because="--isa: ''")
        self.assert_refused("compare", *SMALL, "--isa", "", because="--isa: ''")
        self.assert_refused("compare", *SMALL, "--isa", "unsupported", tool=FAULTY,
                            because="this machine does not run 'unsupported'")

    def test_files(self):
        good = random_array(1, 2, 2, 4)
        whole = good.bytes()
        bad = {
            "truncated": whole[:-1],
            "truncated | shape": whole[:40],
            "not a .npy file": b"PK\3\4" + bytes(200),
            "not a .npy file | empty": b"",
            "4 bytes follow": whole + bytes(4),
            "'<i4'": good.bytes(dtype="<i4"),
            "too large": whole.replace(b"(1, 2, 2, 4)", b"(4611686018427387904, 4)").replace(b" " * 12 + b"\n", b"\n"),
            "truncated | large": whole.replace(b"(1, 2, 2, 4)", b"(99999999, )"),
            "its shape is (16,), not of 4 axes": random_array(16).bytes(),
            "its shape is (1, 1, 2, 2, 4), not": random_array(1, 1, 2, 2, 4).bytes(),
            "version": whole.replace(b"NUMPY\1", b"NUMPY\7"),
        }
        for position in (0, 2, 4):
            for because, content in bad.items():
                flags = self.inputs(good, good, good)
                flags[position + 1].write_bytes(content)
                with self.subTest(because, flag=flags[position]):
                    self.assert_refused("compare", *flags, because=because.split(" |")[0],
                                        start=f"{flags[position]}: {flags[position + 1]}: ")
        flags = self.inputs(good, good, good)
        for path in (self.directory / "missing.npy", self.directory, "/dev/zero", "a\nb", ""):
            self.assert_refused("compare", "--q", path, *flags[2:], because="--q: ")
            self.assert_refused("compare", *flags, "--expect", path, because="--expect: ")

    def test_safetensors(self):
        good = random_array(1, 2, 2, 4)
        whole = safetensors(k=("F32", good), q=("F16", good))
        flags = self.inputs(good, good, good)

        def refused(content, name, because, of_tensor=False):
            path = self.file("x.safetensors", content)
            start = f"{path}{name}" if of_tensor else path
            for flag in ("--q", "--k", "--v", "--expect"):
                others = [f for i in (0, 2, 4) if flags[i] != flag for f in flags[i:i + 2]]
                self.assert_refused("compare", *others, flag, f"{path}{name}", because=because,
                                    start=f"{flag}: {start}: ")

        refused(whole, "", "name one of its tensors behind a colon: k, q")
        refused(whole, ":v", "it has no tensor 'v', but k, q")
        refused(whole, ":", "it has no tensor '', but k, q")
        refused(whole[:-1], ":k", "truncated: 95 bytes of values, its header tells of 96")
        refused(whole[:40], ":k", "truncated")
        refused(b"", ":k", "truncated")
        refused(whole + b"x", ":k", "1 bytes follow after its values")
        refused(whole.replace(b"F16", b"I16"), ":q", "its dtype is I16, not F16, BF16, F32 or F64", of_tensor=True)
        refused(whole.replace(b"[1, 2, 2, 4]", b"[1, 2, 2, 5]"), ":q", "its shape (1, 2, 2, 5) has 40", of_tensor=True)
        refused(whole.replace(b'"q"', b'"k"'), ":k", "its header names k twice")
        refused(good.bytes(), ":k", "not a .safetensors file")
        refused(safetensors(k=("F32", random_array(16))), ":k", "its shape", of_tensor=True)
        missing = self.directory / "missing.safetensors"
        for name in (missing, f"{missing}:k"):
            self.assert_refused("compare", "--q", name, *flags[2:], because="No such file", start=f"--q: {name}: ")

    def test_random_bytes(self):
        numbers = random.Random(1)
        good = random_array(1, 2, 2, 4)
        flags = self.inputs(good, good, good)
        for _ in range(60):
            content = bytearray(good.bytes())
            for _ in range(numbers.randint(1, 3)):
                content[numbers.randrange(80)] ^= 1 << numbers.randrange(8)
            flags[3].write_bytes(content)
            done = run("compare", *flags, "--isa", "scalar")
            self.assertIn(done.returncode, (0, 2), done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1 if done.returncode else 0)

    def test_shapes(self):
        def refused(q, k, v, because):
            arrays = (random_array(*shape) for shape in (q, k, v))
            self.assert_refused("compare", *self.inputs(*arrays), because=because)

        q = (1, 4, 6, 8)
        refused(q, (1, 4, 4, 8), (1, 4, 4, 8), "k: 4 heads do not divide q's 6")
        refused(q, (1, 4, 6, 7), (1, 4, 6, 8), "k: dim 7 is not q's 8")
        refused(q, (1, 5, 6, 8), (1, 4, 6, 8), "v: tokens 4 is not k's 5")
        refused(q, (1, 4, 6, 8), (1, 4, 3, 8), "v: heads 3 is not k's 6")
        refused(q, (2, 4, 6, 8), (2, 4, 6, 8), "k: batch 2 is not q's 1")
        refused(q, (4, 6, 8), (1, 4, 6, 8), "--k: ")
        refused((1, 4, 1, 1025), (1, 4, 1, 1025), (1, 4, 1, 8), "q: dim 1025")
        refused((1, 0, 6, 8), (1, 4, 6, 8), (1, 4, 6, 8), "q: has no rows")
        refused((0, 4, 6, 8), (0, 4, 6, 8), (0, 4, 6, 8), "q: has no rows")
        refused((1, 4, 0, 8), (1, 4, 0, 8), (1, 4, 0, 8), "heads is 0")
        refused((1 << 40, 0, 6, 8), (1, 4, 6, 8), (1, 4, 6, 8), "q: has no rows")
        flags = self.inputs(*[random_array(*q)] * 3)
        self.assert_refused("compare", *flags, "--expect", self.file("e.npy", random_array(1, 4, 6, 7)),
                            because="--expect: ")

    def test_no_keys_are_fine(self):
        out, report = self.library_output(*self.inputs(random_array(1, 2, 2, 4), Array((1, 0, 2, 4), []),
                                                       Array((1, 0, 2, 3), [])))
        self.assertEqual(out.values, [0.0] * 12)
        self.assertEqual(report["pairs"], 0)

    def test_output_that_cannot_be_written(self):
        before = self.file("folder.npy", b"as it was")
        for path in (self.directory / "missing" / "out.npy", self.directory, "/dev/null", "", f"{before}/out.npy"):
            self.assert_refused("compare", *SMALL, "--out-npy", path, because="--out-npy: ")
        # Nothing is written before everything has passed.
        self.assert_refused("compare", *SMALL, "--out-npy", before, "--scale", "nan", because="scale")
        self.assertEqual(before.read_bytes(), b"as it was")
        self.assertEqual(os.listdir(self.directory), ["folder.npy"])


if __name__ == "__main__":
    TRIL, FAULTY = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
