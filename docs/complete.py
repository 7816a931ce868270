#!/usr/bin/env python3
"""Makes the API reference, and fails if doxygen warns or if something public has no comment.

usage: complete.py DOXYGEN DOXYFILE OUTPUT_DIRECTORY

Doxygen knows most of what lacks a comment, but says nothing of enumerators, unnamed enums and default constructors.
"""

import pathlib
import subprocess
import sys
import xml.etree.ElementTree as xml


def has_comment(element):
    return any("".join(part.itertext()).strip() for part in element if part.tag.endswith("description"))


def without_comment(directory):
    for file in sorted(directory.glob("*.xml")):
        compound = xml.parse(file).find("compounddef")
        if compound is None or compound.get("prot") == "private":
            continue
        for member in compound.iterfind(".//memberdef[@prot='public']"):
            for element in (member, *member.iterfind("enumvalue")):
                if not has_comment(element):
                    place = member.find("location")
                    name = element.findtext("name") or element.get("kind")
                    yield f"{place.get('file')}:{place.get('line')}: {name} has no comment"


def main(doxygen, doxyfile, output):
    configuration = pathlib.Path(doxyfile).read_text(encoding="utf-8") + "GENERATE_XML = YES\n"
    done = subprocess.run([doxygen, "-"], input=configuration, text=True)
    if done.returncode != 0:
        return 1
    directory = pathlib.Path(output, "xml")
    if not (directory / "namespacetril.xml").is_file():
        sys.exit(f"{directory}: has no namespace tril")
    missing = list(without_comment(directory))
    print("\n".join(missing))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
