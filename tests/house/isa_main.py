#!/usr/bin/env python3
"""Checks the exit statuses of suites that run once per instruction set.

usage: isa_main.py SUITE
"""

import os
import subprocess
import sys

PASSED, FAILED, SKIPPED, BROKEN = 0, 1, 77, 99


def status(suite, isa, test):
    environment = {name: value for name, value in os.environ.items() if name != "TRIL_ISA"}
    if isa is not None:
        environment["TRIL_ISA"] = isa
    return subprocess.run([suite, test], env=environment, stdout=subprocess.DEVNULL, check=False).returncode


def main(suite):
    wrong = 0
    for isa, test, expected in [
        ("scalar", "uses the one*", PASSED),
        ("scalar", "uses another*", FAILED),  # quietly ran something else
        ("scalar", "fails", None),
        ("unsupported", "uses the one*", SKIPPED),
        ("nonsense", "uses the one*", BROKEN),
        ("", "uses another*", PASSED),  # not asked for any
        (None, "uses another*", PASSED),
        (None, "fails", PASSED),
    ]:
        found = status(suite, isa, test)
        if found != expected if expected is not None else found in (PASSED, SKIPPED, BROKEN):
            print(f"TRIL_ISA={isa}, '{test}': exit status {found}, expected {expected}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
