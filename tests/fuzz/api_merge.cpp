/// Merges of parts in any layout, in place and not.

#include <deque>

#include "api.hpp"
#include "described.hpp"

namespace tril::test {
namespace {

/// A result may be exactly one of the parts, and overlap nothing else.
bool may_write(const std::vector<float*>& written, const float* first, const tril_layout& l, const float* result) {
  if (first == result) return true;
  bool apart = true;
  const auto columns = l.extents[3];
  tensor_memory::for_each_row(l, const_cast<float*>(first), [&](auto, auto, auto, const float* row) {
    for (const float* word : written) apart = apart && !(row <= word && word < row + columns);
  });
  return apart;
}

}  // namespace

void try_merge(choices& c, contexts& all) {
  const contexts::one& with = all.pick(c);
  const auto seed = c.word();
  const std::array<std::int64_t, 4> extents = {c.below(3), c.below(5), c.between(1, 3), c.between(1, 40)};
  const std::int64_t parts = c.below(4);
  tril_merge_args args = TRIL_MERGE_ARGS_INIT;
  args.out_layout = some_layout(c, extents, access::write);
  args.lse_layout = some_layout(c, {extents[0], extents[1], extents[2], 1}, access::write);
  bool sound = parts > 0;
  for (tril_layout* l : {&args.out_layout, &args.lse_layout})
    if (c.one_in(8)) {
      sound = false;
      spoil(c, *l);
    }
  if (!tensor_memory::fits(args.out_layout) || !tensor_memory::fits(args.lse_layout)) return;

  std::deque<tensor_memory> outs, lses;
  std::vector<const void*> part_out;
  std::vector<const float*> part_lse;
  const touching where = c.one_in(2) ? touching::start : touching::end;
  for (std::int64_t i = 0; i <= parts; ++i) {  // the last is the result
    const auto part = static_cast<std::uint32_t>(i);
    outs.emplace_back(args.out_layout, where, canary);
    lses.emplace_back(args.lse_layout, where, canary);
    if (i == parts) break;
    const auto any_row = [](std::int64_t, std::int64_t) { return true; };
    outs.back().fill(derived_seed(seed, 2 * part), any_row);
    lses.back().fill(derived_seed(seed, 2 * part + 1), any_row);
    part_out.push_back(outs.back().first());
    part_lse.push_back(lses.back().first());
  }
  args.parts = c.one_in(16) ? -c.below(3) : parts;
  sound = sound && args.parts > 0;
  args.part_out = part_out.data();
  args.part_lse = part_lse.data();
  float* out = outs.back().first();
  if (parts > 0 && c.one_in(4)) {  // into a part, or across one
    out = outs[static_cast<std::size_t>(c.below(parts))].first();
    if (out != nullptr && c.one_in(4) && extents[3] > 1) sound = false, ++out;
  }
  if (c.one_in(16)) sound = false, out = nullptr;
  args.out = out;
  args.lse = lses.back().first();
  const sized<tril_merge_args> callers(c, args);
  sound = sound && callers.is_whole() && callers.is_known();
  for (auto* memories : {&outs, &lses})
    for (tensor_memory& m : *memories) m.remember();

  const tril_status s = tril_merge(with.context, callers.get());
  must_be_a_status(s);
  if (s.code == TRIL_OK || s.code == TRIL_EXECUTOR_FAILED) {
    must_hold(args.parts > 0 && callers.is_known(), "only what the contract allows is accepted");
    must_hold((s.code == TRIL_EXECUTOR_FAILED) == all.executor.failed, "an executor's failure is reported");
    std::vector<float*> written;
    tensor_memory::for_each_row(args.out_layout, out, [&](auto, auto, auto, float* row) {
      for (std::int64_t i = 0; i < args.out_layout.extents[3]; ++i) written.push_back(row + i);
    });
    for (const void* part : part_out)
      must_hold(may_write(written, static_cast<const float*>(part), args.out_layout, out), "a result overlaps no part");
    for (tensor_memory& m : outs)
      for (float* word : written) {
        auto* bits = reinterpret_cast<std::uint32_t*>(word);
        if (bits < m.words().data() || bits >= m.words().data() + m.words().size()) continue;
        must_hold(s.code != TRIL_OK || *bits != canary, "all of the result is written");
        m.restore(bits);
      }
    tensor_memory::for_each_row(args.lse_layout, lses.back().first(), [&](auto, auto, auto, float* row) {
      auto* bits = reinterpret_cast<std::uint32_t*>(row);
      must_hold(s.code != TRIL_OK || *bits != canary, "all of lse is written");
      lses.back().restore(bits);
    });
  } else {
    must_hold(!sound, "what the contract allows is accepted");
  }
  for (auto* memories : {&outs, &lses})
    for (const tensor_memory& m : *memories) must_hold(m.is_unchanged(), "nothing else is written");
}

}  // namespace tril::test
