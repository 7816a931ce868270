#pragma once

namespace tril::test {

#if defined(__has_feature)  // clang
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TRIL_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TRIL_SANITIZED
#endif

/// Whether a sanitizer watches memory: it keeps some of its own, and its locks do not survive a fork.
#ifdef TRIL_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#undef TRIL_SANITIZED

}  // namespace tril::test
