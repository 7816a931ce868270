#include "api/status.hpp"

#include <cstdarg>
#include <cstdio>

namespace tril::api {

tril_status failure(tril_code code, const char* format, ...) noexcept {
  tril_status s = {};
  s.code = code;
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(s.message, sizeof s.message, format, arguments);
  va_end(arguments);
  return s;
}

}  // namespace tril::api
