#include "support/workload.hpp"

#include <algorithm>

#include "reference/visible.hpp"

namespace tril::test {
namespace {

/// Gives the rows for which `used` holds their values. Which values a row gets does not depend on the others, nor on
/// the storage.
template <class Used>
void fill(const float_tensor& t, values kind, std::uint32_t seed, Used used) {
  const auto& extents = t.layout().extents;
  const auto dim = static_cast<std::size_t>(extents[3]);
  const std::vector<float> x =
      generate(kind, static_cast<std::size_t>(extents[0] * extents[1] * extents[2]) * dim, seed);
  auto next = x.begin();
  t.for_each_row([&](std::int64_t sequence, std::int64_t token, std::int64_t head) {
    if (used(sequence, token)) std::copy_n(next, dim, t.row(sequence, token, head).begin());
    next += static_cast<std::ptrdiff_t>(dim);
  });
}

std::string text_of(const std::vector<std::int32_t>& numbers) {
  std::string text;
  for (const std::int32_t number : numbers) text += ' ' + std::to_string(number);
  return text.empty() ? " -" : text;
}

std::string text_of(const storage& how) {
  std::string text;
  for (const std::size_t axis : how.order) text += (how.reversed[axis] ? "BTH" : "bth")[axis];
  return text + "+" + std::to_string(how.padding) + "/" + std::to_string(how.lead) +
         (how.where == touching::end ? "|" : "<");
}

}  // namespace

std::string describe(const recipe& r) {
  std::string text = "batch " + std::to_string(r.batch) + ", rows " + std::to_string(r.rows) + ", keys " +
                     std::to_string(r.keys) + ", heads " + std::to_string(r.q_heads) + "/" +
                     std::to_string(r.kv_heads) + ", dim " + std::to_string(r.dim) + "/" + std::to_string(r.value_dim) +
                     (r.causal ? ", causal" : ", full") + ", window " + std::to_string(r.window.left) + "," +
                     std::to_string(r.window.right);
  if (r.scale) text += ", scale " + std::to_string(*r.scale);
  text += "\nq_lengths" + text_of(r.q_lengths) + ", kv_lengths" + text_of(r.kv_lengths) + ", query_offset" +
          text_of(r.query_offset) + "\nq " + name_of(r.q) + ' ' + text_of(r.q_storage) + ", k " + name_of(r.k) + ' ' +
          text_of(r.k_storage) + ", v " + name_of(r.v) + ' ' + text_of(r.v_storage) + ", out " +
          text_of(r.out_storage) + ", lse " + text_of(r.lse_storage);
  return text;
}

storage random_storage(lcg& random) {
  storage how;
  for (std::size_t i = 2; i > 0; --i)
    std::swap(how.order[i], how.order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i) + 1))]);
  for (bool& reversed : how.reversed) reversed = random.one_in(4);
  how.padding = random.one_in(2) ? 0 : random.between(1, 9);
  how.lead = random.between(0, 3);
  how.where = random.one_in(2) ? touching::end : touching::start;
  return how;
}

recipe random_recipe(std::uint32_t seed) {
  lcg random(seed);
  const auto some = [&](std::initializer_list<std::int64_t> sizes) {
    return sizes.begin()[random.below(static_cast<std::int64_t>(sizes.size()))];
  };
  recipe r;
  r.batch = random.between(1, 3);
  r.rows = some({1, 2, random.between(1, 12), random.between(1, 50)});
  r.keys = some({random.between(1, 40), random.between(1, 300), random.between(200, 600)});
  r.kv_heads = random.between(1, 3);
  r.q_heads = r.kv_heads * random.between(1, 4);
  r.dim = some({random.between(1, 20), random.between(1, 70)});
  r.value_dim = some({random.between(1, 20), random.between(1, 140)});
  r.causal = !random.one_in(3);
  if (random.one_in(2)) r.window.left = some({0, 1, random.between(0, 40), random.between(0, 400)});
  if (random.one_in(3)) r.window.right = some({0, 1, random.between(0, 40)});
  if (random.one_in(3)) r.scale = random.unit();
  for (std::int64_t i = 0; i < r.batch; ++i) {
    r.q_lengths.push_back(static_cast<std::int32_t>(random.between(0, r.rows)));
    r.kv_lengths.push_back(static_cast<std::int32_t>(random.between(0, r.keys)));
    r.query_offset.push_back(static_cast<std::int32_t>(random.between(-20, r.keys + 20)));
  }
  for (auto* given : {&r.q_lengths, &r.kv_lengths, &r.query_offset})
    if (random.one_in(2)) given->clear();
  const auto some_values = [&] { return all_values[random.below(std::size(all_values))]; };
  do r.q = some_values();
  while (!is_finite(r.q));
  do r.k = some_values();
  while (!is_finite(r.k));
  r.v = some_values();
  for (storage* how : {&r.q_storage, &r.k_storage, &r.v_storage, &r.out_storage, &r.lse_storage})
    *how = random_storage(random);
  return r;
}

workload::workload(const recipe& r, std::uint32_t seed)
    : q({r.batch, r.rows, r.q_heads, r.dim}, r.q_storage, poison),
      k({r.batch, r.keys, r.kv_heads, r.dim}, r.k_storage, poison),
      v({r.batch, r.keys, r.kv_heads, r.value_dim}, r.v_storage, poison),
      out({r.batch, r.rows, r.q_heads, r.value_dim}, r.out_storage, canary),
      lse({r.batch, r.rows, r.q_heads, 1}, r.lse_storage, canary),
      q_lengths(std::span(r.q_lengths), r.q_storage.where),
      kv_lengths(std::span(r.kv_lengths), r.k_storage.where),
      query_offset(std::span(r.query_offset), r.out_storage.where),
      recipe_(r),
      seed_(seed) {
  const tril::problem p = problem();
  std::vector<bool> key_is_seen;
  for (std::int64_t sequence = 0; sequence < r.batch; ++sequence) {
    const reference::extent e = reference::sequence_extent(p, sequence);
    for (std::int64_t key = 0; key < r.keys; ++key) {
      bool seen = false;
      for (std::int64_t row = 0; row < e.rows && !seen; ++row) seen = reference::visible(p, e, row, key);
      key_is_seen.push_back(seen);
    }
  }
  const auto seen = [&](std::int64_t sequence, std::int64_t key) {
    return key_is_seen[static_cast<std::size_t>(sequence * r.keys + key)];
  };
  const auto exists = [&](std::int64_t sequence, std::int64_t row) { return row < rows_of(sequence); };
  fill(q, r.q, derived_seed(seed, 1), exists);
  fill(k, r.k, derived_seed(seed, 2), seen);
  fill(v, r.v, derived_seed(seed, 3), seen);
}

std::string workload::text() const { return describe(recipe_) + "\nseed " + std::to_string(seed_) + '\n'; }

tril::problem workload::problem() const {
  return {.q = q.layout(),
          .kv = {.k = k.layout(), .v = v.layout(), .lengths = kv_lengths.span()},
          .out = out.layout(),
          .lse = lse.layout(),
          .visibility = {recipe_.causal, recipe_.window, q_lengths.span(), query_offset.span()},
          .scale = recipe_.scale};
}

tril::run_data workload::data() const {
  return {.q = q.data(), .kv = {k.data(), v.data()}, .out = out.data(), .lse = lse.data()};
}

std::int64_t workload::rows_of(std::int64_t sequence) const {
  return reference::sequence_extent(problem(), sequence).rows;
}

status workload::run(const context& ctx) {
  out.reset(canary);
  lse.reset(canary);
  return attention(ctx, {q.data(), q.layout()}, {k.data(), k.layout()}, {v.data(), v.layout()},
                   {out.data(), out.layout()},
                   {.causal = recipe_.causal,
                    .window = recipe_.window,
                    .scale = recipe_.scale,
                    .q_lengths = q_lengths.span(),
                    .kv_lengths = kv_lengths.span(),
                    .query_offset = query_offset.span(),
                    .lse = {lse.data(), lse.layout()}});
}

}  // namespace tril::test
