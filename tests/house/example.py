#!/usr/bin/env python3
"""Makes a program of the example in README.md and of the one in the comment of tril.hpp.

usage: example.py README TRIL_HPP OUTPUT
"""

import re
import sys

PROGRAM = """{readme}
#include <algorithm>
#include <vector>

static tril::status as_in_the_header(const float* q, const float* k, const float* v, float* out, int64_t T) {{
{header}
  return st;
}}

int main() {{
  const int64_t T = 37;
  const std::vector<float> q(T * 16 * 128, 0.25f), k(T * 8 * 128, -0.5f), v(T * 8 * 128, 2.0f);
  std::vector<float> out(T * 16 * 128);
  // The mean of equal values.
  const auto right = [&] {{ return std::all_of(out.begin(), out.end(), [](float x) {{ return x == 2.0f; }}); }};
  layer(q.data(), k.data(), v.data(), out.data(), T);
  if (!right()) return 1;
  std::fill(out.begin(), out.end(), 0.0f);
  return as_in_the_header(q.data(), k.data(), v.data(), out.data(), T) && right() ? 0 : 1;
}}
"""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main(readme, header, output):
    in_readme = re.search(r"^```cpp\n(.*?)^```$", read(readme), flags=re.MULTILINE | re.DOTALL)
    in_header = "\n".join(re.findall(r"^///  ( .*)$", read(header), flags=re.MULTILINE))
    if in_readme is None or "tril::attention(" not in in_readme[1]:
        sys.exit(f"{readme}: has no example")
    if "tril::attention(" not in in_header:
        sys.exit(f"{header}: has no example")
    with open(output, "w", encoding="utf-8") as program:
        program.write(PROGRAM.format(readme=in_readme[1], header=in_header))


if __name__ == "__main__":
    main(*sys.argv[1:])
