#pragma once

#include <string>

namespace tril::tool {

/// Says something on the standard error: one line, whatever characters the text holds.
void say(std::string text);

}  // namespace tril::tool
