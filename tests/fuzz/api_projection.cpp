/// Projections of any size, with weights and rows in any layout.

#include <optional>
#include <utility>

#include "api.hpp"
#include "described.hpp"
#include "reference/projection.hpp"

namespace tril::test {
namespace {

/// A weight, and whether it was described by the rules throughout.
struct weights {
  tril_projection_args args = TRIL_PROJECTION_ARGS_INIT;
  std::optional<guarded<float>> weight, bias;
  bool sound = true;

  weights(choices& c, std::int64_t in, std::int64_t out, std::uint32_t seed) {
    const std::int64_t strides[][2] = {{0, 0}, {in, 1}, {1, out}, {in + 3, 1}, {2 * in, 2}, {0, 1}, {1, 0}};
    args.in = in;
    args.out = out;
    std::ranges::copy(strides[c.below(std::size(strides))], args.weight_strides);
    if (c.one_in(8)) {
      sound = false;
      std::int64_t* fields[] = {&args.in, &args.out, &args.weight_strides[0], &args.weight_strides[1]};
      *fields[c.below(std::size(fields))] = c.any();
    }
    if (!is_small()) return;
    const touching where = c.one_in(2) ? touching::start : touching::end;
    const auto give = [&](std::optional<guarded<float>>& to, std::int64_t count, std::uint32_t salt) {
      const auto numbers = generate(values::uniform, static_cast<std::size_t>(count), derived_seed(seed, salt));
      to.emplace(std::span<const float>(numbers), where);
      return std::as_const(*to).data();
    };
    args.weight = give(weight, offset(args.out - 1, args.in - 1) + 1, 1);
    if (c.one_in(2)) args.bias = give(bias, args.out, 2);
    if (c.one_in(16)) sound = false, args.weight = nullptr;
  }

  bool in_range() const {
    const std::int64_t* s = args.weight_strides;
    const auto size = [](std::int64_t extent) { return extent >= 1 && extent <= std::int64_t{1} << 24; };
    return size(args.in) && size(args.out) && s[0] >= 0 && s[1] >= 0;
  }

  /// It can be held in memory and takes a moment.
  bool is_small() const {
    constexpr double most = tensor_memory::most_elements;
    const auto number = [](std::int64_t value) { return static_cast<double>(value); };
    const auto [of_out, of_in] = strides();
    return in_range() && number(args.in) * number(args.out) < most &&
           number(args.out - 1) * number(of_out) + number(args.in - 1) * number(of_in) < most;
  }

  /// As a caller means it.
  float at(std::int64_t o, std::int64_t i) const { return std::as_const(*weight).data()[offset(o, i)]; }

 private:
  struct both {
    std::int64_t of_out, of_in;
  };
  both strides() const {
    const auto [of_out, of_in] = args.weight_strides;
    return of_out == 0 && of_in == 0 ? both{args.in, 1} : both{of_out, of_in};
  }
  std::int64_t offset(std::int64_t o, std::int64_t i) const { return o * strides().of_out + i * strides().of_in; }
};

/// Elements of a row of x, whose heads need not lie together.
std::vector<float> row_of(const tril_layout& l, const float* first, std::int64_t sequence, std::int64_t token) {
  std::vector<float> row;
  tensor_memory::for_each_row(l, const_cast<float*>(first), [&](auto s, auto t, auto, const float* head) {
    if (s == sequence && t == token) row.insert(row.end(), head, head + l.extents[3]);
  });
  return row;
}

bool same_as_canonical(choices& c, bool fused, const weights& w, const tril_projection_data& data) {
  const tril_layout& y = data.y_layout;
  if (!has_elements(y)) return true;
  const std::int64_t sequence = c.below(y.extents[0]), token = c.below(y.extents[1]);
  const std::vector<float> x = row_of(data.x_layout, static_cast<const float*>(data.x), sequence, token);
  std::vector<float> together;
  for (std::int64_t o = 0; o < w.args.out; ++o)
    for (std::int64_t i = 0; i < w.args.in; ++i) together.push_back(w.at(o, i));
  const std::vector<float> expected =
      reference::canonical_projection(fused, {x.data(), together.data(), w.args.bias, w.args.in, w.args.out});
  return row_of(y, static_cast<const float*>(data.y), sequence, token) == expected;
}

void run(choices& c, contexts& all, const contexts::one& with, const weights& w, const tril_projection* projection,
         const std::array<std::int64_t, 4>& extents, std::uint32_t seed) {
  tril_projection_data data = TRIL_PROJECTION_DATA_INIT;
  data.x_layout = some_layout(c, extents, access::read);
  data.y_layout = some_layout(c, {extents[0], extents[1], 1, w.args.out}, access::write);
  bool sound = w.args.in == extents[2] * extents[3];
  for (tril_layout* l : {&data.x_layout, &data.y_layout})
    if (c.one_in(8)) {
      sound = false;
      spoil(c, *l);
    }
  for (const tril_layout* l : {&data.x_layout, &data.y_layout}) {
    double elements = 1;  // many, at one address, would take long
    for (const std::int64_t extent : l->extents) elements *= static_cast<double>(extent);
    if (!tensor_memory::fits(*l) || elements > 0x1p20) return;
  }
  const touching where = c.one_in(2) ? touching::start : touching::end;
  tensor_memory x(data.x_layout, where, poison), y(data.y_layout, where, canary);
  x.fill(derived_seed(seed, 3), [](std::int64_t, std::int64_t) { return true; });
  data.x = x.first();
  data.y = y.first();
  if (c.one_in(16)) sound = false, data.x = nullptr;
  if (c.one_in(16)) sound = false, data.y = nullptr;
  if (c.one_in(16) && y.first() != nullptr && y.words().size() <= x.words().size()) {
    sound = false;
    data.y = x.words().data() + (reinterpret_cast<std::uint32_t*>(y.first()) - y.words().data());
  }
  const sized<tril_projection_data> callers(c, data);
  sound = sound && callers.is_whole() && callers.is_known();
  for (tensor_memory* m : {&x, &y}) m->remember();

  const tril_status s = tril_projection_run(projection, callers.get());
  must_be_a_status(s);
  if (s.code == TRIL_OK || s.code == TRIL_EXECUTOR_FAILED) {
    must_hold(callers.is_known(), "unknown fields are refused");
    must_hold((s.code == TRIL_EXECUTOR_FAILED) == all.executor.failed || !has_elements(data.y_layout),
              "an executor's failure is reported");
    if (s.code == TRIL_OK)
      must_hold(same_as_canonical(c, with.kernels->fused, w, data), "a row has the canonical bits");
    tensor_memory::for_each_row(data.y_layout, static_cast<float*>(data.y), [&](auto, auto, auto, float* row) {
      for (std::int64_t i = 0; i < data.y_layout.extents[3]; ++i) {
        auto* word = reinterpret_cast<std::uint32_t*>(row + i);
        must_hold(word >= y.words().data() && word < y.words().data() + y.words().size(), "y overlaps no input");
        must_hold(s.code != TRIL_OK || *word != canary, "all of y is written");
        y.restore(word);
      }
    });
  } else {
    must_hold(!sound, "what the contract allows is accepted");
  }
  for (const tensor_memory* m : {&x, &y}) must_hold(m->is_unchanged(), "nothing else is written");
}

}  // namespace

void try_projection(choices& c, contexts& all) {
  const contexts::one& with = all.pick(c);
  const std::uint32_t seed = c.word();
  const std::array<std::int64_t, 4> extents = {c.below(3), c.one_in(4) ? c.below(150) : c.below(8), c.between(1, 3),
                                               c.between(1, 40)};
  const weights w(c, extents[2] * extents[3], c.between(1, 70), seed);
  if (w.in_range() && !w.is_small()) return;
  tril_projection* projection = reinterpret_cast<tril_projection*>(&all);  // to be overwritten
  const sized<tril_projection_args> callers(c, w.args);
  const tril_status made = tril_projection_create(with.context, callers.get(), &projection);
  must_be_a_status(made);
  must_hold((made.code == TRIL_OK) == (projection != nullptr), "a projection exactly after success");
  if (made.code == TRIL_OK && w.args.weight != nullptr && callers.is_whole()) {
    must_hold(callers.is_known() && w.in_range(), "only what the contract allows is accepted");
    run(c, all, with, w, projection, extents, seed);
  } else if (made.code != TRIL_OK) {
    must_hold(!(w.sound && callers.is_whole() && callers.is_known()), "what the contract allows is accepted");
  }
  tril_projection_destroy(projection);
}

}  // namespace tril::test
