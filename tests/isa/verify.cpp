/// What verify() accepts must be right, and what is wrong it must not accept.

#include "support/verify.hpp"

#include <algorithm>
#include <cmath>

#include "support/catch.hpp"

using namespace tril;
using namespace tril::test;

TEST_CASE("A workload's values do not depend on its storage") {
  recipe r = {.batch = 2, .rows = 3, .keys = 5, .q_heads = 4, .kv_heads = 2, .dim = 3, .value_dim = 2};
  const workload plain(r, 7);
  lcg random(7);
  for (storage* how : {&r.q_storage, &r.k_storage, &r.v_storage}) *how = random_storage(random);
  const workload other(r, 7);
  CHECK(compare_bits(plain.q.elements(), other.q.elements(), 3).ok);
  CHECK(compare_bits(plain.k.elements(), other.k.elements(), 3).ok);
  CHECK(compare_bits(plain.v.elements(), other.v.elements(), 2).ok);
}

TEST_CASE("A workload poisons what no row needs and nothing else") {
  const workload w({.batch = 2,
                    .rows = 3,
                    .keys = 4,
                    .dim = 1,
                    .value_dim = 1,
                    .q_lengths = {3, 1},
                    .kv_lengths = {4, 2},
                    .query_offset = {0, 1}},
                   1);
  const auto poisoned = [](const std::vector<float>& x) {
    std::string text;
    for (const float value : x) text += value == value ? '.' : 'x';
    return text;
  };
  CHECK(poisoned(w.q.elements()) == "....xx");
  CHECK(poisoned(w.k.elements()) == "...x..xx");
  CHECK(poisoned(w.v.elements()) == "...x..xx");
}

TEST_CASE("A workload's text repeats it") {
  const workload w(random_recipe(3), 3);
  CHECK(w.text().find("seed 3\n") != std::string::npos);
  CHECK(w.text().find(describe(random_recipe(3))) == 0);
}

namespace {

/// Threads that do their work and then damage the result.
struct spoiler {
  workload& w;
  void (*spoil)(workload&);

  tril_executor executor() {
    return {this, [](void* self, std::int64_t count, void (*task)(void*, std::int64_t), void* closure) {
              for (std::int64_t i = 0; i < count; ++i) task(closure, i);
              const spoiler& s = *static_cast<spoiler*>(self);
              s.spoil(s.w);
            }};
  }
};

template <class Change>
void change_rows(workload& w, Change change) {
  w.for_each_row([&](std::int64_t sequence, std::int64_t row, std::int64_t head) {
    for (float& x : w.out.row(sequence, row, head)) x = change(x);
  });
}

}  // namespace

TEST_CASE("Verification rejects every damaged result") {
  const struct {
    const char* what;
    bool good;
    void (*spoil)(workload&);
  } cases[] = {
      {"untouched", true, [](workload&) {}},
      {"all zeros", false, [](workload& w) { change_rows(w, [](float) { return 0.0f; }); }},
      {"all NaN", false, [](workload& w) { change_rows(w, [](float) { return quiet_nan; }); }},
      {"negated", false, [](workload& w) { change_rows(w, [](float x) { return -x; }); }},
      {"one bit", false, [](workload& w) { w.out.at(1, 2, 1, 3) = std::nextafter(w.out.at(1, 2, 1, 3), 9.0f); }},
      {"rows shifted by one", false,
       [](workload& w) {
         for (std::int64_t row = 4; row > 0; --row)
           for (std::int64_t c = 0; c < 6; ++c) w.out.at(0, row, 0, c) = w.out.at(0, row - 1, 0, c);
       }},
      {"heads exchanged", false, [](workload& w) { std::ranges::swap_ranges(w.out.row(0, 4, 0), w.out.row(0, 4, 1)); }},
      {"one lse", false, [](workload& w) { w.lse.at(1, 0, 1, 0) += 1.0f; }},
      {"a row left out", false,
       [](workload& w) { std::ranges::fill(w.out.row(0, 3, 1), numeric::bits_as<float>(canary)); }},
      {"a row that does not exist", false, [](workload& w) { w.out.at(1, 3, 0, 0) = 0.0f; }},
      {"a write between rows", false, [](workload& w) { w.out.at(0, 0, 0, 6) = 0.0f; }},
      {"a write in front of lse", false, [](workload& w) { w.lse.at(0, 0, 0, -1) = 0.0f; }},
  };
  recipe r = {.batch = 2, .rows = 5, .keys = 9, .q_heads = 2, .dim = 4, .value_dim = 6, .q_lengths = {5, 3}};
  r.out_storage.padding = 1;
  r.lse_storage.lead = 1;
  for (const auto& c : cases) {
    workload w(r, seed());
    spoiler s{w, c.spoil};
    const report verdict = verify(context({.executor = s.executor()}), w);
    INFO(c.what << ": " << verdict.text);
    CHECK(verdict.ok == c.good);
  }
}
