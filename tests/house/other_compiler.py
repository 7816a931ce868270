"""Compiles an instruction set's object with another compiler and runs the object checks on it.

usage: other_compiler.py COMPILER ISA SOURCE_ROOT -- FLAGS...
"""

import subprocess
import sys
import tempfile
from pathlib import Path

compiler, isa, root = sys.argv[1:4]
flags = sys.argv[5:]
source = Path(root) / "src"
checks = Path(root) / "tools" / "check"

with tempfile.TemporaryDirectory() as directory:
    name = Path(directory) / f"{isa}.o"
    subprocess.run(
        [compiler, "-std=c++20", "-O3", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wpedantic",
         "-Wconversion", "-Wno-unknown-warning-option", "-Werror", *flags, f"-I{source}",
         "-c", source / "kernels" / isa / "table.cpp", "-o", name],
        check=True,
    )
    subprocess.run([checks / "symbols", "isa", isa, name], check=True)
    subprocess.run([checks / "spills", name], check=True)
