#pragma once

#include <string_view>

#include "tril/tril.h"

namespace tril {

enum class code : int32_t {
  ok = TRIL_OK,
  invalid_argument = TRIL_INVALID_ARGUMENT,
  unsupported = TRIL_UNSUPPORTED,
  out_of_memory = TRIL_OUT_OF_MEMORY,
  executor_failed = TRIL_EXECUTOR_FAILED,
};

/// What became of a call: a code and a sentence that names the argument at fault. Held by value, never
/// allocated. Contextually true after success.
class [[nodiscard]] status {
 public:
  status() noexcept : raw_{} {}
  status(const tril_status& raw) noexcept : raw_(raw) {}
  status(tril::code code, std::string_view message) noexcept : raw_{} {
    raw_.code = static_cast<int32_t>(code);
    const std::size_t length = message.size() < sizeof raw_.message ? message.size() : sizeof raw_.message - 1;
    message.copy(raw_.message, length);
  }

  explicit operator bool() const noexcept { return raw_.code == TRIL_OK; }
  tril::code code() const noexcept { return static_cast<tril::code>(raw_.code); }
  const char* message() const noexcept { return raw_.message; }

 private:
  tril_status raw_;
};

}  // namespace tril
