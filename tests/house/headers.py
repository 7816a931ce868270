#!/usr/bin/env python3
"""Compiles each public header by itself and twice, and tril.h as C and as every C++ from 17 on.

usage: headers.py INCLUDE_DIRECTORY C_COMPILER [ARGUMENT ...] -- C++_COMPILER [ARGUMENT ...]
"""

import pathlib
import subprocess
import sys

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]


def main(include, *compilers):
    split = compilers.index("--")
    compiler = {"c": compilers[:split], "c++": compilers[split + 1 :]}
    headers = sorted(path.name for path in pathlib.Path(include, "tril").glob("*.h*"))
    if "tril.h" not in headers or "tril.hpp" not in headers:
        sys.exit(f"headers: {include}/tril is not the place")
    cases = [("c", standard, "tril.h") for standard in ("c99", "c11", "c17")]
    cases += [("c++", standard, "tril.h") for standard in ("c++17", "c++20")]
    cases += [("c++", "c++20", header) for header in headers]
    failed = 0
    for language, standard, header in cases:
        options = [f"-std={standard}", *WARNINGS, "-fsyntax-only", "-I", include, "-x", language, "-"]
        twice = f'#include "tril/{header}"\n' * 2
        done = subprocess.run([*compiler[language], *options], input=twice, capture_output=True, text=True, check=False)
        print(f"{header} as {standard}: {'ok' if done.returncode == 0 else 'fails'}")
        if done.returncode != 0:
            print(done.stderr)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
