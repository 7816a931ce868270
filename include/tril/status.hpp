#pragma once

#include <string_view>

#include "tril/tril.h"

namespace tril {

/// The kinds of failure.
enum class code : int32_t {
  ok = TRIL_OK,                              ///< Success.
  invalid_argument = TRIL_INVALID_ARGUMENT,  ///< A precondition does not hold; the message names the argument.
  unsupported = TRIL_UNSUPPORTED,            ///< Valid, but not on this CPU or in this build.
  out_of_memory = TRIL_OUT_OF_MEMORY,        ///< A workspace or a plan could not be allocated.
  executor_failed = TRIL_EXECUTOR_FAILED,    ///< The caller's executor did not run every task exactly once.
};

/// What became of a call: a code and a sentence that names the argument at fault. Held by value, never
/// allocated. Contextually true after success.
class [[nodiscard]] status {
 public:
  /// Success.
  status() noexcept : raw_{} {}
  /// What the C interface returned.
  status(const tril_status& raw) noexcept : raw_(raw) {}
  /// A message of more than TRIL_MESSAGE_BYTES - 1 bytes is cut.
  status(tril::code code, std::string_view message) noexcept : raw_{} {
    raw_.code = static_cast<int32_t>(code);
    const std::size_t length = message.size() < sizeof raw_.message ? message.size() : sizeof raw_.message - 1;
    message.copy(raw_.message, length);
  }

  /// Whether the call succeeded.
  explicit operator bool() const noexcept { return raw_.code == TRIL_OK; }
  /// The kind of failure.
  tril::code code() const noexcept { return static_cast<tril::code>(raw_.code); }
  /// "" after success; else a sentence, "k: 7 heads do not divide q's 16". Lives as long as the status.
  const char* message() const noexcept { return raw_.message; }

 private:
  tril_status raw_;
};

}  // namespace tril
