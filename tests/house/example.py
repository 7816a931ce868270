#!/usr/bin/env python3
"""Makes a program of the example in the comment of tril.hpp.

usage: example.py TRIL_HPP OUTPUT
"""

import re
import sys

PROGRAM = """#include <cstdio>
#include <vector>

#include "tril/tril.hpp"

int main() {{
  const int T = 37;
  const std::vector<float> queries(T * 16 * 128, 0.25f), keys(T * 8 * 128, -0.5f), values(T * 8 * 128, 2.0f);
  std::vector<float> outputs(T * 16 * 128);
  const float *q = queries.data(), *k = keys.data(), *v = values.data();
  float* out = outputs.data();
{example}
  for (const float x : outputs)
    if (x != 2.0f) return 1;  // a mean of equal values
  return st ? 0 : 1;
}}
"""


def main(header, output):
    with open(header, encoding="utf-8") as text:
        example = re.findall(r"^///  ( .*)$", text.read(), flags=re.MULTILINE)
    if not any("tril::attention(" in line for line in example):
        sys.exit(f"{header}: has no example")
    with open(output, "w", encoding="utf-8") as program:
        program.write(PROGRAM.format(example="\n".join(example)))


if __name__ == "__main__":
    main(*sys.argv[1:])
