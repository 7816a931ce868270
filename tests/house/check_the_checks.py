#!/usr/bin/env python3
"""Plants faults and requires that tools/check finds them.

usage: check_the_checks.py TOOLS_CHECK_DIRECTORY COMPILER [ARGUMENT ...]
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CHECKS, *COMPILER = sys.argv[1:]

CLEAN = {
    "include/tril/tril.h": "#include <stdint.h>",
    "include/tril/tensor.hpp": '#include <span>\n#include "tril/tril.h"',
    "src/api/attention.cpp": '#include <vector>\n#include "plan/cut.hpp"\n#include "memory/aligned.hpp"',
    "src/plan/cut.hpp": '#include "contract/args.hpp"\n#include "tril/tril.h"',
    "src/run/prefill.cpp": '#include "plan/cut.hpp"\n#include "contract/args.hpp"',
    "src/contract/args.hpp": '#include <cstddef>\n#include "numeric/canon.hpp"',
    "src/numeric/canon.hpp": "#include <cstdint>",
    "src/numeric/environment.hpp": "#include <xmmintrin.h>",
    "src/memory/aligned.hpp": "#include <memory>",
    "src/parallel/tbb.cpp": "#include <tbb/parallel_for.h>",
    "src/kernels/generic/xsimd.hpp": "#include <xsimd/xsimd.hpp>",
    "src/kernels/generic/table.hpp": '#include "contract/args.hpp"',
    "src/kernels/avx2/isa.hpp": "#include <immintrin.h>",
    "src/kernels/avx2/table.cpp": '#include "kernels/avx2/isa.hpp"\n#include "kernels/generic/table.hpp"',
    "src/kernels/scalar/isa.hpp": "",
    "src/reference/row.hpp": '#include "numeric/canon.hpp"\n#include "tril/tensor.hpp"',
}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Layers(unittest.TestCase):
    def check(self, planted):
        """Runs the check on the clean tree with the planted files added or replaced."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**CLEAN, **planted}.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text + "\n", encoding="utf-8")
            return run(CHECKS + "/layers", root)

    def test_clean(self):
        result = self.check({})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_planted(self):
        for name, line in [
            ("src/plan/cut.hpp", '#include "run/prefill.hpp"'),
            ("src/plan/cut.hpp", '#include "api/attention.cpp"'),
            ("src/plan/cut.hpp", '#include "numeric/canon.hpp"'),
            ("src/plan/cut.hpp", '#include "../api/attention.cpp"'),
            ("src/plan/cut.hpp", '#include "cut.hpp"'),
            ("src/run/prefill.cpp", '#  include "api/attention.cpp"'),
            ("src/api/attention.cpp", '#include "kernels/generic/table.hpp"'),
            ("src/api/attention.cpp", '#include "reference/row.hpp"'),
            ("src/api/attention.cpp", "#include <tbb/task_arena.h>"),
            ("src/api/attention.cpp", "#include <oneapi/tbb/task_arena.h>"),
            ("src/api/attention.cpp", "#include <xsimd/xsimd.hpp>"),
            ("src/memory/aligned.hpp", '#include "contract/args.hpp"'),
            ("src/contract/args.hpp", "#include <vector>"),
            ("src/contract/args.hpp", '#include "tril/tril.h"'),
            ("src/numeric/canon.hpp", "#include <cmath>"),
            ("src/kernels/generic/table.hpp", "#include <algorithm>"),
            ("src/kernels/generic/table.hpp", "#include <xsimd/xsimd.hpp>"),
            ("src/kernels/generic/table.hpp", '#include "memory/aligned.hpp"'),
            ("src/kernels/generic/table.hpp", '#include "kernels/avx2/isa.hpp"'),
            ("src/kernels/generic/table.hpp", '#include "tril/tril.h"'),
            ("src/kernels/generic/table.hpp", "#include <tril/tril.h>"),
            ("src/kernels/avx2/isa.hpp", '#include "kernels/scalar/isa.hpp"'),
            ("src/reference/row.hpp", '#include "plan/cut.hpp"'),
            ("src/novel/thing.cpp", '#include "numeric/canon.hpp"'),
            ("include/tril/tensor.hpp", '#include "numeric/canon.hpp"'),
            ("include/tril/tensor.hpp", "#include <immintrin.h>"),
            ("include/tril/tensor.hpp", "#include <tbb/parallel_for.h>"),
            ("include/tril/tril.h", "#include <stdio.h>"),
        ]:
            with self.subTest(file=name, line=line):
                before = CLEAN.get(name, "")
                result = self.check({name: f"{before}\n{line}" if before else line})
                self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
                number = len(before.splitlines()) + 1
                self.assertEqual(len(result.stdout.splitlines()), 1, result.stdout)
                self.assertTrue(result.stdout.startswith(f"{name}:{number}: "), result.stdout)


class Symbols(unittest.TestCase):
    TABLE = """namespace tril::some {
               extern __attribute__((visibility("hidden"))) const int table;
               const int table = 1;
               }
            """

    def compile(self, root, source, *arguments):
        path, out = pathlib.Path(root, "source.cpp"), str(pathlib.Path(root, "out.o"))
        path.write_text(source, encoding="utf-8")
        done = run(*COMPILER, "-std=c++20", *arguments, str(path), "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def isa(self, source):
        with tempfile.TemporaryDirectory() as root:
            return run(CHECKS + "/symbols", "isa", "some", self.compile(root, source, "-c"))

    def test_clean_isa(self):
        result = self.isa(self.TABLE + "static __attribute__((used)) int internal() { return 1; }")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_faulty_isa(self):
        for source, complaint in [
            (self.TABLE + "int extra() { return 1; }", "defines extra()"),
            (self.TABLE + "int extra = 1;", "defines extra"),
            (self.TABLE + "inline int f() { return 1; } int (*volatile p)() = f;", "shares f()"),
            (self.TABLE + "template <class T> T f() { return 1; } static int g = f<int>();", "shares int f<int>()"),
            (self.TABLE + "int make(); static volatile int made = make();", "code in .init_array"),
            (self.TABLE + "int elsewhere(); __attribute__((used)) static int (*p)() = elsewhere;", "needs elsewhere()"),
            (self.TABLE.replace("table", "chart"), "does not define tril::some::table"),
            (self.TABLE.replace('"hidden"', '"default"'), "is not hidden"),
        ]:
            with self.subTest(source=source):
                result = self.isa(source)
                self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
                self.assertIn(complaint, result.stdout)

    def library(self, source, header):
        with tempfile.TemporaryDirectory() as root:
            path = pathlib.Path(root, "tril.h")
            path.write_text(header, encoding="utf-8")
            library = self.compile(root, source, "-shared", "-fPIC", "-nostdlib")
            return run(CHECKS + "/symbols", "library", library, str(path))

    def test_library(self):
        header = """#define TRIL_API __attribute__((visibility("default")))
                    /* TRIL_API void in_a_comment(void); */
                    TRIL_API int one(void);
                    TRIL_API const char* two(int32_t index,
                                             int32_t more);
                    static inline int not_exported(void) { return 1; }
                 """
        two = 'extern "C" int one() { return 1; } extern "C" const char* two(int, int) { return ""; }'
        clean = self.library(two, header)
        self.assertEqual(clean.returncode, 0, clean.stdout + clean.stderr)
        more = self.library(two + "int three() { return 3; }", header)
        self.assertEqual((more.returncode, more.stdout.count("\n")), (1, 1), more.stdout)
        self.assertIn("exports three(), which tril.h does not declare", more.stdout)
        less = self.library('extern "C" int one() { return 1; }', header)
        self.assertEqual((less.returncode, less.stdout.count("\n")), (1, 1), less.stdout)
        self.assertIn("does not export two", less.stdout)

    def archive(self, source):
        with tempfile.TemporaryDirectory() as root:
            header = pathlib.Path(root, "tril.h")
            header.write_text("TRIL_API int one(void);", encoding="utf-8")
            return run(CHECKS + "/symbols", "archive", self.compile(root, source, "-c"), str(header))

    def test_archive(self):
        one = 'extern "C" int one() { return 1; }'
        hidden = 'namespace tril { __attribute__((visibility("hidden"))) int within() { return 1; } }'
        weak = "template <class T> T f() { return 1; } template int f<int>();"
        clean = self.archive(one + hidden + weak)
        self.assertEqual(clean.returncode, 0, clean.stdout + clean.stderr)
        for source, complaint in [
            (hidden, "does not export one"),
            (one + "int two() { return 2; }", "exports two(), which tril.h does not declare"),
            (one + "namespace tril { int absent(); } int (*volatile p)() = tril::absent;", "lacks tril::absent()"),
        ]:
            with self.subTest(source=source):
                result = self.archive(source)
                self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
                self.assertIn(complaint, result.stdout)


class Abi(unittest.TestCase):
    HEADER = """#include <stddef.h>
        #define API __attribute__((visibility("default")))
        typedef enum code { OK = 0, BAD = 1 } code;
        typedef struct args { size_t struct_size; int first; double second; } args;
        typedef struct point { int x; long y; } point;
        API code run(const args* a, point p);
        API int stop(void);
        """
    SOURCE = """extern "C" {
        #include "tril.h"
        code run(const args* a, point p) { return (long)a->first + p.y ? OK : BAD; }
        int stop(void) { return 1; }
        }
        """

    def setUp(self):
        if shutil.which("abidw") is None:
            self.skipTest("abigail-tools are not installed")

    def build(self, root, *changes):
        texts = {"tril.h": self.HEADER, "tril.cpp": self.SOURCE}
        for before, after in changes:
            self.assertTrue(any(before in text for text in texts.values()), before)
            texts = {name: text.replace(before, after) for name, text in texts.items()}
        for name, text in texts.items():
            pathlib.Path(root, name).write_text(text, encoding="utf-8")
        arguments = ["-g", "-shared", "-fPIC", "-fvisibility=hidden", root + "/tril.cpp", "-o", root + "/tril.so"]
        done = run(*COMPILER, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)

    def compare(self, *changes):
        with tempfile.TemporaryDirectory() as root:
            files = [root + "/tril.so", root + "/tril.h", root + "/dump"]
            self.build(root)
            written = run(CHECKS + "/abi", "--write", *files)
            self.assertEqual(written.returncode, 0, written.stdout + written.stderr)
            self.build(root, *changes)
            return run(CHECKS + "/abi", *files)

    def test_compatible(self):
        for changes in [
            [],
            [("double second;", "double second; int third;")],
            [("BAD = 1", "BAD = 1, WORSE = 2")],
            [
                ("API int stop", "API int more(void); API int stop"),
                ("int stop(void) {", "int more(void) { return 1; } int stop(void) {"),
            ],
        ]:
            with self.subTest(changes=changes):
                result = self.compare(*changes)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_incompatible(self):
        for change in [
            ("int first;", "int zeroth; int first;"),
            ("int first; double second;", "double second; int first;"),
            (" double second;", ""),
            ("int first", "unsigned first"),
            ("second", "another"),
            ("long y;", "long y; long z;"),  # without a struct_size
            ("BAD = 1", "WORSE = 1, BAD = 2"),
            ("API int stop", "int stop"),
            ("int stop", "long stop"),
            ("point p)", "point p, int more)"),
        ]:
            with self.subTest(change=change):
                result = self.compare(change)
                self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
                self.assertIn("would break", result.stdout)

    def test_no_debug_information(self):
        with tempfile.TemporaryDirectory() as root:
            self.build(root)
            run("strip", root + "/tril.so")
            result = run(CHECKS + "/abi", root + "/tril.so", root + "/tril.h", root + "/dump")
            self.assertEqual(result.returncode, 77, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
