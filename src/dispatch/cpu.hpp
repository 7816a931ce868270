#pragma once

namespace tril::dispatch {

/// Whether this CPU and operating system run everything that the objects of an instruction set may contain.
/// One function per name in the build's list of instruction sets.
bool supports_scalar() noexcept;

}  // namespace tril::dispatch
