#!/usr/bin/env python3
"""Checks that README.md tells users to link the library in the words that the tests beside this file use.

usage: readme.py README
"""

import pathlib
import re
import sys

sys.dont_write_bytecode = True  # beside the sources
import installed  # noqa: E402

TRIED = {
    "sh": "\n".join(f"$({command})" for command in installed.PKG_CONFIG.values()),
    "cmake": (installed.APP / "CMakeLists.txt").read_text(encoding="utf-8"),
    "meson": (installed.APP / "meson.build").read_text(encoding="utf-8"),
}


def main(readme):
    section = re.search(r"^## Link it\n(.*?)^## ", pathlib.Path(readme).read_text(encoding="utf-8"), re.DOTALL | re.M)
    if section is None:
        sys.exit(f"{readme}: has no section 'Link it'")
    faults = []
    for language, tried in TRIED.items():
        block = re.search(rf"^```{language}\n(.*?)^```$", section[1], re.DOTALL | re.M)
        told = re.findall(r"\$\(.*?\)" if language == "sh" else r".+", block[1] if block else "")
        if not told:
            faults.append(f"has no lines of {language}")
        faults += [f"not tried: {line}" for line in told if line not in tried.split("\n")]
    print("\n".join(f"{readme}: {fault}" for fault in faults) or "as tried")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
