#include "notice.hpp"

#include <algorithm>
#include <cstdio>

namespace tril::tool {

void say(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, '?');
  std::fprintf(stderr, "tril: %s\n", text.c_str());
}

}  // namespace tril::tool
