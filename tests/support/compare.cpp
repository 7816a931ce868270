#include "support/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>

#include "numeric/canon.hpp"

namespace tril::test {
namespace {

[[gnu::format(printf, 2, 3)]] void append(std::string& text, const char* format, ...) {
  char line[160];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  text += line;
}

/// The elements around [row][column], two to each side, of the row and its neighbours.
template <class Expected>
void append_neighbourhood(std::string& text, std::span<const float> actual, std::span<const Expected> expected,
                          std::size_t columns, std::size_t row, std::size_t column) {
  const std::size_t rows = actual.size() / columns;
  const std::size_t first = column > 2 ? column - 2 : 0, last = std::min(column + 3, columns);
  for (std::size_t r = row > 0 ? row - 1 : 0; r < std::min(row + 2, rows); ++r)
    for (const bool ours : {true, false}) {
      append(text, "  %s[%zu][%zu...]", ours ? "actual  " : "expected", r, first);
      for (std::size_t c = first; c < last; ++c) {
        const std::size_t i = r * columns + c;
        append(text, " %.9g", ours ? static_cast<double>(actual[i]) : static_cast<double>(expected[i]));
      }
      text += '\n';
    }
}

/// Whether the arrays can be compared at all.
bool comparable(std::size_t actual, std::size_t expected, std::size_t columns, report& r) {
  r.ok = actual == expected && actual > 0 && columns > 0 && actual % columns == 0;
  if (!r.ok) append(r.text, "%zu elements against %zu, in rows of %zu\n", actual, expected, columns);
  return r.ok;
}

}  // namespace

report compare_bits(std::span<const float> actual, std::span<const float> expected, std::size_t columns) {
  report r;
  if (!comparable(actual.size(), expected.size(), columns, r)) return r;
  std::size_t faults = 0, first = 0;
  for (std::size_t i = 0; i < actual.size(); ++i)
    if (numeric::bits_as<std::uint32_t>(actual[i]) != numeric::bits_as<std::uint32_t>(expected[i]) && faults++ == 0)
      first = i;
  if (faults == 0) return r;
  r.ok = false;
  r.first_fault_row = first / columns;
  append(r.text, "%zu of %zu elements differ in bits; the first is [%zu][%zu], %08x instead of %08x\n", faults,
         actual.size(), first / columns, first % columns, numeric::bits_as<std::uint32_t>(actual[first]),
         numeric::bits_as<std::uint32_t>(expected[first]));
  append_neighbourhood(r.text, actual, expected, columns, first / columns, first % columns);
  return r;
}

report compare_within(std::span<const float> actual, std::span<const double> expected, std::span<const double> bound,
                      std::size_t columns) {
  report r;
  if (!comparable(actual.size(), expected.size(), columns, r)) return r;
  if (!comparable(actual.size(), bound.size(), columns, r)) return r;

  std::size_t faults = 0, first = 0, finite = 0, worst = 0;
  double sum_of_errors = 0;
  bool only_zeros = true, zeros_expected = true;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const auto a = static_cast<double>(actual[i]);
    const double error = a - expected[i];
    // Never "fault if beyond": a NaN is beyond nothing.
    const bool good = std::isnan(expected[i])   ? std::isnan(a)
                      : std::isinf(expected[i]) ? a == expected[i]
                                                : std::isfinite(a) && std::abs(error) <= bound[i];
    if (!good && faults++ == 0) first = i;
    only_zeros &= a == 0;
    zeros_expected &= static_cast<float>(expected[i]) == 0;
    if (!std::isfinite(error)) continue;
    ++finite;
    sum_of_errors += error;
    const double share = error == 0 ? 0 : std::abs(error) / bound[i];
    if (share > r.largest_share) r.largest_share = share, worst = i;
  }
  const bool vacuous = only_zeros && !zeros_expected;
  if (vacuous) append(r.text, "all %zu elements are zero\n", actual.size());
  append(r.text, "worst row %zu, at %.3g of its bound; signed mean error %.3g over %zu finite elements\n",
         worst / columns, r.largest_share, finite ? sum_of_errors / static_cast<double>(finite) : 0.0, finite);
  r.ok = faults == 0 && !vacuous;
  if (faults == 0) return r;
  r.first_fault_row = first / columns;
  append(r.text, "%zu of %zu elements are at fault; the first is [%zu][%zu], with a bound of %.3g\n", faults,
         actual.size(), first / columns, first % columns, bound[first]);
  append_neighbourhood(r.text, actual, expected, columns, first / columns, first % columns);
  return r;
}

}  // namespace tril::test
