#pragma once

/// The one way to include Catch2, version 2 or 3, and what the two spell differently.

#include <cstdint>

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_message.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/catch_tostring.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#define TRIL_CATCH_SEED Catch::getSeed
#else
#include <catch2/catch.hpp>
#define TRIL_CATCH_SEED Catch::rngSeed
#endif

namespace tril::test {

/// The seed of this run; every random input comes from it.
inline std::uint32_t seed() { return TRIL_CATCH_SEED(); }

}  // namespace tril::test

#undef TRIL_CATCH_SEED
