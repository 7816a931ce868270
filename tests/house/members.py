#!/usr/bin/env python3
"""Lists the structs of tril.h, their members and the initialisers, each in a macro.

usage: members.py TRIL_H OUTPUT
"""

import re
import sys


def member_names(declaration):
    if pointer := re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", declaration):  # to a function
        return [pointer[1]]
    return [re.search(r"(\w+)\s*(?:\[[^]]*\]\s*)*$", part)[1] for part in declaration.split(",")]


def main(header, output):
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    structs = re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text, flags=re.DOTALL)
    initialisers = sorted(set(re.findall(r"#define (TRIL_\w+_INIT)\b", text)))
    if not structs or not initialisers:
        sys.exit(f"{header}: has no structs")
    with open(output, "w", encoding="utf-8") as file:
        for struct, body in structs:
            file.write(f"STRUCT({struct})\n")
            for declaration in filter(str.strip, body.split(";")):
                for member in member_names(declaration.strip()):
                    file.write(f"MEMBER({struct}, {member})\n")
        for initialiser in initialisers:
            file.write(f"INIT({initialiser.removesuffix('_INIT').lower()}, {initialiser})\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
