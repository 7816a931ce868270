/// Attention of any shape, in any memory, by any of the ways to run it.

#include <cmath>
#include <optional>

#include "api.hpp"
#include "described.hpp"
#include "reference/canonical.hpp"

namespace tril::test {
namespace {

/// One number per sequence, right before an unreadable page; or null.
using list = std::optional<guarded<std::int32_t>>;

/// A problem, and whether it was made by the rules throughout.
struct asked {
  tril_attention_args args = TRIL_ATTENTION_ARGS_INIT;
  tril_kv_layout kv = TRIL_KV_LAYOUT_INIT;
  list q_lengths, kv_lengths, query_offset;
  bool sound = true;

  explicit asked(choices& c) {
    const std::int64_t batch = c.one_in(16) ? 0 : c.between(1, 3);
    const std::int64_t rows = c.one_in(2) ? c.below(40) : c.between(1, 3);
    const std::int64_t keys = c.one_in(4) ? c.below(700) : c.below(40);
    const std::int64_t kv_heads = c.between(1, 3), q_heads = kv_heads * c.between(1, 3);
    const auto some_dim = [&] { return c.one_in(32) ? c.between(1, 1024) : c.between(1, 40); };
    const std::int64_t dim = some_dim(), value_dim = some_dim();
    args.q = some_layout(c, {batch, rows, q_heads, dim}, access::read);
    kv.k = some_layout(c, {batch, keys, kv_heads, dim}, access::read);
    kv.v = some_layout(c, {batch, keys, kv_heads, value_dim}, access::read);
    args.out = some_layout(c, {batch, rows, q_heads, value_dim}, access::write);
    if (!c.one_in(4)) args.lse = some_layout(c, {batch, rows, q_heads, 1}, access::write);
    give(c, q_lengths, batch, 0, rows);
    give(c, kv_lengths, batch, 0, keys);
    give(c, query_offset, batch, -20, keys + 20);
    if (c.one_in(3)) args.flags |= TRIL_FULL;
    if (c.one_in(4)) {
      args.flags |= TRIL_SCALE_SET;
      args.scale = std::bit_cast<float>(c.word());
      sound = sound && std::isfinite(args.scale);
    }
    for (std::int64_t* bound : {&args.window_left, &args.window_right})
      if (c.one_in(3)) *bound = c.below(60);
    for (std::int64_t spoilt = c.one_in(4) ? c.between(1, 3) : 0; spoilt > 0; --spoilt) spoil_one(c);
    const auto at = [](const list& l) { return l ? l->data() : nullptr; };
    kv.lengths = at(kv_lengths);
    args.q_lengths = at(q_lengths);
    args.query_offset = at(query_offset);
  }

  /// What the header says of a problem that is accepted.
  bool is_valid() const {
    const tril_layout* tensors[] = {&args.q, &kv.k, &kv.v, &args.out, &args.lse};
    for (const tril_layout* l : std::span(tensors).first(with_lse() ? 5 : 4))
      if (l->dtype != TRIL_F32 || l->reserved != 0 || l->extents[0] != args.q.extents[0] || l->extents[0] < 0 ||
          l->extents[1] < 0 || l->extents[2] < 1 || l->extents[3] < 1 || l->extents[3] > 1024 ||
          (l->extents[3] > 1 && l->strides[3] != 1))
        return false;
    for (const tril_layout* l : {&args.out, &args.lse})
      if ((l == &args.out || with_lse()) && (l->extents[1] != args.q.extents[1] || l->extents[2] != args.q.extents[2] ||
                                             l->extents[3] != (l == &args.out ? kv.v.extents[3] : 1)))
        return false;
    const bool lists = in_range(q_lengths, args.q.extents[1]) && in_range(kv_lengths, kv.k.extents[1]);
    return lists && kv.k.extents[1] == kv.v.extents[1] && kv.k.extents[2] == kv.v.extents[2] &&
           kv.k.extents[3] == args.q.extents[3] && args.q.extents[2] % kv.k.extents[2] == 0 &&
           (args.flags & ~std::uint32_t{TRIL_FULL | TRIL_SCALE_SET}) == 0 && args.window_left >= -1 &&
           args.window_right >= -1 && ((args.flags & TRIL_SCALE_SET) == 0 || std::isfinite(args.scale));
  }

  bool with_lse() const {
    constexpr tril_layout absent = {};
    return std::memcmp(&args.lse, &absent, sizeof absent) != 0;
  }

  /// A plan takes time and memory with these: either few, or so many that they must be refused.
  bool can_be_planned() const {
    const double batch = extent(args.q, 0), heads = extent(args.q, 2) + extent(kv.k, 2);
    const double planned = batch * (1 + (extent(args.q, 1) + 1) * heads);
    return planned < 0x1p14 || (batch * extent(args.q, 1) * extent(args.q, 2) > 0x1p34 && extent(args.q, 1) > 0);
  }

  /// It can be held in memory and takes a moment.
  bool can_be_run() const {
    const double pairs = extent(args.q, 0) * extent(args.q, 1) * extent(args.q, 2) * extent(kv.k, 1);
    return pairs * (extent(args.q, 3) + extent(args.out, 3)) < 0x1p22 && tensor_memory::fits(args.q) &&
           tensor_memory::fits(kv.k) && tensor_memory::fits(kv.v) && tensor_memory::fits(args.out) &&
           tensor_memory::fits(args.lse);
  }

  tril::problem problem() const {
    const auto span = [](const list& l) {
      return l ? std::span<const std::int32_t>(l->span()) : std::span<const std::int32_t>();
    };
    tril::problem p = {.q = args.q,
                       .kv = {.k = kv.k, .v = kv.v, .lengths = span(kv_lengths)},
                       .out = args.out,
                       .lse = args.lse,
                       .visibility = {.causal = (args.flags & TRIL_FULL) == 0,
                                      .window = {args.window_left, args.window_right},
                                      .q_lengths = span(q_lengths),
                                      .query_offset = span(query_offset)}};
    if ((args.flags & TRIL_SCALE_SET) != 0) p.scale = args.scale;
    return p;
  }

 private:
  static double extent(const tril_layout& l, int axis) { return std::max(static_cast<double>(l.extents[axis]), 0.0); }

  static void give(choices& c, list& l, std::int64_t batch, std::int64_t first, std::int64_t last) {
    if (!c.one_in(3)) return;
    l.emplace(static_cast<std::size_t>(batch));
    for (std::int32_t& number : l->span()) number = static_cast<std::int32_t>(c.between(first, last));
  }

  static bool in_range(const list& l, std::int64_t last) {
    return !l || std::ranges::all_of(l->span(), [&](std::int32_t length) { return length >= 0 && length <= last; });
  }

  void spoil_one(choices& c) {
    sound = false;
    list* lists[] = {&q_lengths, &kv_lengths, &query_offset};
    tril_layout* layouts[] = {&args.q, &kv.k, &kv.v, &args.out, &args.lse};
    const auto which = static_cast<std::size_t>(c.below(11));
    const std::int64_t longest = which == 0 ? args.q.extents[1] : kv.k.extents[1];
    if (which < 3 && *lists[which] && !(*lists[which])->span().empty())
      (*lists[which])->span().back() = static_cast<std::int32_t>(c.one_in(2) ? c.any() : 1 + longest);
    else if (which < 8)
      spoil(c, *layouts[which % 5]);
    else if (which == 8)
      args.window_left = c.any();
    else if (which == 9)
      args.window_right = c.any();
    else
      args.flags = c.word();
    // A list has as many entries as there are sequences.
    const auto batch = static_cast<std::uint64_t>(args.q.extents[0]);
    for (list* l : lists)
      if (*l && (*l)->span().size() != batch) l->reset();
  }
};

/// The memory of one run.
class tensors {
 public:
  tensors(choices& c, const asked& a)
      : q(a.args.q, side(c), poison),
        k(a.kv.k, side(c), poison),
        v(a.kv.v, side(c), poison),
        out(a.args.out, side(c), canary),
        lse(a.args.lse, side(c), canary),
        problem_(a.problem()) {
    const std::uint32_t seed = c.word();
    // What no row needs stays poisoned.
    const auto exists = [&](std::int64_t sequence, std::int64_t row) { return row < rows_of(sequence); };
    const auto seen = [&](std::int64_t sequence, std::int64_t key) {
      const reference::extent e = reference::sequence_extent(problem_, sequence);
      for (std::int64_t row = 0; row < e.rows; ++row)
        if (reference::visible(problem_, e, row, key)) return true;
      return false;
    };
    q.fill(derived_seed(seed, 1), exists);
    k.fill(derived_seed(seed, 2), seen);
    v.fill(derived_seed(seed, 3), seen);
    data.q = q.first();
    data.k = k.first();
    data.v = v.first();
    data.out = out.first();
    data.lse = a.with_lse() ? lse.first() : nullptr;
  }

  std::int64_t rows_of(std::int64_t sequence) const { return reference::sequence_extent(problem_, sequence).rows; }
  std::array<tensor_memory*, 5> all() { return {&q, &k, &v, &out, &lse}; }

  /// The words that a successful run writes.
  std::vector<std::uint32_t*> written() const {
    std::vector<std::uint32_t*> words;
    const auto add = [&](const tril_layout& l, void* first) {
      tensor_memory::for_each_row(l, static_cast<float*>(first), [&](auto sequence, auto token, auto, float* row) {
        for (std::int64_t i = 0; i < l.extents[3] && token < rows_of(sequence); ++i)
          words.push_back(reinterpret_cast<std::uint32_t*>(row + i));
      });
    };
    add(problem_.out, data.out);
    if (data.lse != nullptr) add(problem_.lse, data.lse);
    std::ranges::sort(words);
    return words;
  }

  /// Whether no word of `sorted` is an element of an input.
  bool apart_from_inputs(const std::vector<std::uint32_t*>& sorted) const {
    bool apart = true;
    const auto look = [&](const tril_layout& l, const void* first) {
      auto* tensor = static_cast<float*>(const_cast<void*>(first));
      tensor_memory::for_each_row(l, tensor, [&](auto, auto, auto, float* row) {
        const auto found = std::ranges::lower_bound(sorted, reinterpret_cast<std::uint32_t*>(row));
        apart = apart && (found == sorted.end() || *found >= reinterpret_cast<std::uint32_t*>(row + l.extents[3]));
      });
    };
    look(problem_.q, data.q);
    look(problem_.kv.k, data.k);
    look(problem_.kv.v, data.v);
    return apart;
  }

  bool same_as_canonical(choices& c, bool fused) const {
    const auto& extents = problem_.q.extents;
    if (!has_elements(problem_.out)) return true;
    const std::int64_t sequence = c.below(extents[0]), head = c.below(extents[2]);
    if (rows_of(sequence) == 0) return true;
    const std::int64_t row = c.below(rows_of(sequence));
    const run_data at = {.q = data.q, .kv = {data.k, data.v}};
    const reference::float_row expected =
        reference::canonical(fused, reference::row_of(problem_, at, sequence, row, head));
    const auto address = [&](const tril_layout& l, void* first) {
      return static_cast<float*>(first) + reference::offset_of(l, sequence, row, head);
    };
    return std::memcmp(address(problem_.out, data.out), expected.out.data(), expected.out.size() * sizeof(float)) ==
               0 &&
           (data.lse == nullptr ||
            std::memcmp(address(problem_.lse, data.lse), &expected.lse, sizeof expected.lse) == 0);
  }

  tensor_memory q, k, v, out, lse;
  tril_attention_data data = TRIL_ATTENTION_DATA_INIT;

 private:
  static touching side(choices& c) { return c.one_in(2) ? touching::start : touching::end; }

  tril::problem problem_;
};

/// A workspace of the caller's, or none.
struct workspace {
  std::optional<guarded_memory> memory;
  bool refused = false;

  workspace(choices& c, std::size_t bytes, bool needed, tril_attention_data& data) {
    enum : std::int64_t { none, exact, one_less, misaligned, kinds };
    std::int64_t how = c.below(8);
    if (how >= kinds) how = exact;
    if (how == none && !needed) return;
    const touching where = c.one_in(2) ? touching::start : touching::end;
    const std::size_t lead = how == misaligned ? static_cast<std::size_t>(c.between(1, 63)) : 0;
    memory.emplace(bytes + (lead > 0 ? 64 : 0), where, canary);
    data.workspace = memory->data() + lead;
    data.workspace_bytes = how == one_less && bytes > 0 ? bytes - 1 : bytes;
    refused = lead > 0 || data.workspace_bytes < bytes;
  }

  /// Whether nothing but `bytes` of it have been written.
  bool is_canary_beyond(std::size_t bytes) const {
    if (!memory) return true;
    const auto* first = reinterpret_cast<const std::uint32_t*>(memory->data());
    const auto* last = first + bytes / sizeof *first;
    return std::ranges::all_of(memory->reachable_words(), [&](const std::uint32_t& word) {
      return word == canary || (&word >= first && &word < last);
    });
  }
};

/// Takes a pointer away, moves it by a byte, or moves an output into an input or the other output.
void spoil(choices& c, tensors& t) {
  const void** inputs[] = {&t.data.q, &t.data.k, &t.data.v};
  const void*& input = *inputs[c.below(3)];
  switch (c.below(7)) {
    case 0:
      input = nullptr;
      break;
    case 1:
      t.data.out = nullptr;
      break;
    case 2:
      t.data.lse = nullptr;
      break;
    case 3:
      if (input != nullptr) input = static_cast<const std::byte*>(input) + c.between(1, 3);
      break;
    case 4:
      if (t.data.out != nullptr) t.data.out = static_cast<std::byte*>(t.data.out) + c.between(1, 3);
      break;
    case 5:  // where there is room for it
      if (t.out.first() != nullptr && t.out.words().size() <= t.v.words().size())
        t.data.out = reinterpret_cast<std::byte*>(t.v.words().data()) +
                     (reinterpret_cast<std::byte*>(t.out.first()) - reinterpret_cast<std::byte*>(t.out.words().data()));
      break;
    default:
      t.data.lse = static_cast<float*>(t.data.out);
  }
}

/// The stages and tasks of a plan by hand, in ascending or descending order, with any worker.
tril_status run_tasks(choices& c, const tril_plan* plan, std::int32_t threads, const tril_attention_data* data) {
  const bool backward = c.one_in(2);
  const std::int64_t stages = tril_plan_stages(plan);
  const tril_status no_stage = tril_plan_run_task(plan, c.one_in(2) ? stages : -1, 0, 0, data);
  must_hold(no_stage.code == TRIL_INVALID_ARGUMENT, "a stage that does not exist is refused");
  bool checked = false;
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const std::int64_t tasks = tril_plan_tasks(plan, stage);
    checked = checked || tasks > 0;
    const tril_status no_task = tril_plan_run_task(plan, stage, c.one_in(2) ? tasks : -1, 0, data);
    must_hold(no_task.code == TRIL_INVALID_ARGUMENT, "a task that does not exist is refused");
    const tril_status no_worker = tril_plan_run_task(plan, stage, 0, c.one_in(2) ? threads : -1, data);
    must_hold(no_worker.code == TRIL_INVALID_ARGUMENT, "a worker that does not exist is refused");
    for (std::int64_t i = 0; i < tasks; ++i) {
      const auto worker = static_cast<std::int32_t>(c.below(threads));
      const tril_status s = tril_plan_run_task(plan, stage, backward ? tasks - 1 - i : i, worker, data);
      if (s.code != TRIL_OK) return s;
    }
  }
  return checked ? tril_status{} : tril_plan_run(plan, data);  // where nothing is to do, the data still need a look
}

void run(choices& c, contexts& all, const contexts::one& with, const asked& a, const tril_plan* plan) {
  constexpr std::size_t most_workspace = std::size_t{8} << 20;
  enum : std::int64_t { plan_run, at_once, by_hand, ways };
  const std::int64_t way = c.below(ways);
  const std::size_t bytes = tril_plan_workspace_bytes(plan);
  if (bytes > most_workspace) return;
  tensors t(c, a);
  const workspace scratch(c, bytes, way == by_hand, t.data);
  const bool spoilt = c.one_in(4);
  if (spoilt) spoil(c, t);
  const sized<tril_attention_data> data(c, t.data);
  const sized<tril_attention_args> args(c, a.args);
  for (tensor_memory* m : t.all()) m->remember();
  for (tensor_memory* m : {&t.q, &t.k, &t.v})
    if (!spoilt) m->allow(PROT_READ);

  const tril_status s = way == at_once   ? tril_attention(with.context, args.get(), data.get())
                        : way == by_hand ? run_tasks(c, plan, tril_context_threads(with.context), data.get())
                                         : tril_plan_run(plan, data.get());
  must_be_a_status(s);
  for (tensor_memory* m : {&t.q, &t.k, &t.v}) m->allow(PROT_READ | PROT_WRITE);
  if (s.code == TRIL_OK || s.code == TRIL_EXECUTOR_FAILED) {
    must_hold(!scratch.refused, "a workspace that is too small or not aligned is refused");
    must_hold(data.is_known() && (way != at_once || args.is_known()), "unknown fields are refused");
    const std::vector<std::uint32_t*> written = t.written();
    must_hold(std::ranges::adjacent_find(written) == written.end(),
              "outputs overlap neither each other nor themselves");
    must_hold(t.apart_from_inputs(written), "outputs overlap no input");
    if (s.code == TRIL_OK) {
      must_hold(!all.executor.failed, "an executor's failure is reported");
      for (const std::uint32_t* word : written) must_hold(*word != canary && *word != poison, "all rows are written");
      must_hold(t.same_as_canonical(c, with.kernels->fused), "a row has the canonical bits");
    } else {
      must_hold(all.executor.failed, "an executor fails only if it did");
    }
    for (tensor_memory* m : t.all())
      for (std::uint32_t* word : written)
        if (word >= m->words().data() && word < m->words().data() + m->words().size()) m->restore(word);
    must_hold(scratch.is_canary_beyond(bytes), "a workspace's surroundings are not written");
  } else {
    const bool whole = data.is_whole() && data.is_known() && args.is_whole() && args.is_known();
    must_hold(spoilt || scratch.refused || !whole, "what the contract allows is accepted");
    must_hold(scratch.is_canary_beyond(0), "nothing is written to a workspace after an error");
  }
  for (tensor_memory* m : t.all()) must_hold(m->is_unchanged(), "nothing else is written");
}

}  // namespace

void try_attention(choices& c, contexts& all) {
  const contexts::one& with = all.pick(c);
  asked a(c);
  if (!a.can_be_planned()) return;
  tril_plan* plan = reinterpret_cast<tril_plan*>(&a);  // to be overwritten
  bool whole = true, known = true;
  const auto made = [&] {
    // The plan copies what it was made from, which is gone when it runs.
    const sized<tril_kv_layout> kv(c, a.kv);
    a.args.kv = c.one_in(32) ? nullptr : kv.get();
    const sized<tril_attention_args> args(c, a.args);
    whole = kv.is_whole() && args.is_whole() && a.args.kv != nullptr;
    known = kv.is_known() && args.is_known();
    tril_cost cost = TRIL_COST_INIT;
    const tril_status counted = tril_attention_cost(args.get(), &cost);
    const tril_status s = tril_plan_create(with.context, args.get(), &plan);
    must_be_a_status(counted);
    must_hold(s.code == TRIL_OK || counted.code == s.code, "what cannot be planned cannot be counted");
    if (s.code == TRIL_OK && counted.code == TRIL_OK)
      must_hold(cost.visible_pairs >= 0 && cost.flops >= 0 && cost.kv_bytes >= 0, "costs are counts");
    return s;
  }();
  must_be_a_status(made);
  must_hold((made.code == TRIL_OK) == (plan != nullptr), "a plan exactly after success");
  if (made.code == TRIL_OK && whole) {
    must_hold(known && a.is_valid(), "only what the contract allows is accepted");
    tril_kv_layout kv = a.kv;
    a.args.kv = &kv;
    if (a.can_be_run()) run(c, all, with, a, plan);
  } else if (made.code != TRIL_OK) {
    must_hold(!(a.sound && whole && known), "what the contract allows is accepted");
  }
  tril_plan_destroy(plan);
}

}  // namespace tril::test
