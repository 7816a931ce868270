#!/usr/bin/env python3
"""Checks that what machines without AVX run is code that they know.

usage: encodings.py ARCHIVE...

Reads the object code and prints each instruction that is encoded the way of AVX and its successors (VEX, EVEX). Exit
status 1 if there is one.
"""

import re
import subprocess
import sys

INSTRUCTION = re.compile(r"\s*[0-9a-f]+:\t((?:[0-9a-f]{2} )+)\s*\t(.*)")
# In 64-bit mode these bytes begin no other instruction; segment and address size may stand in front.
SINCE_AVX = re.compile(r"((2e|3e|64|65|67) )*(c4|c5|62) ")


def main(archives):
    if not archives:
        sys.exit(__doc__)
    read = faults = 0
    for archive in archives:
        command = ["objdump", "--disassemble", "--demangle", "--insn-width=16", archive]
        listing = subprocess.run(command, check=True, capture_output=True, text=True)
        function = "?"
        for line in listing.stdout.splitlines():
            if header := re.match(r"[0-9a-f]+ <(.*)>:$", line):
                function = header[1]
            elif instruction := INSTRUCTION.match(line):
                read += 1
                if SINCE_AVX.match(instruction[1]):
                    faults += 1
                    print(f"{archive}: {function}: {instruction[2]}")
    print(f"{read} instructions, {faults} that came with AVX or later")
    return 1 if faults or not read else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
