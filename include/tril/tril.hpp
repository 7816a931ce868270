#pragma once

/// @file
/// tril: SIMD attention kernels for CPUs. Everything of the C++ interface, a header-only wrapper of tril.h.
///
///     tril::context ctx;                                     // best instruction set, all cores
///     tril::status st = tril::attention(ctx, tril::bthd(q, 1, T, 16, 128), tril::bthd(k, 1, T, 8, 128),
///                                       tril::bthd(v, 1, T, 8, 128), tril::bthd(out, 1, T, 16, 128));
///     if (!st) std::puts(st.message());                      // "k: 7 heads do not divide q's 16"

/// @namespace tril
/// The C++ interface: what fails returns a status, nothing throws.

#include "tril/attention.hpp"
#include "tril/context.hpp"
#include "tril/cost.hpp"
#include "tril/kv.hpp"
#include "tril/merge.hpp"
#include "tril/plan.hpp"
#include "tril/projection.hpp"
#include "tril/status.hpp"
#include "tril/tensor.hpp"
#include "tril/version.hpp"
#include "tril/visibility.hpp"
