#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace tril::parallel {

/// Hands out the numbers 0 ... count - 1, each to one holder at a time. There are as many as threads at work,
/// so that waiting is rare: only an executor that runs more tasks at once than it said makes one wait.
class worker_slots {
 public:
  static constexpr int max_slots = 1024;

  explicit worker_slots(int count) : count_(count) {}

  class holder {
   public:
    explicit holder(worker_slots& slots) : slots_(slots), slot_(slots.acquire()) {}
    ~holder() { slots_.release(slot_); }
    holder(const holder&) = delete;
    holder& operator=(const holder&) = delete;
    int slot() const { return slot_; }

   private:
    worker_slots& slots_;
    int slot_;
  };

 private:
  static constexpr int bits = 64;

  int acquire() {
    for (;; std::this_thread::yield())
      for (int first = 0; first < count_; first += bits) {
        std::atomic<std::uint64_t>& word = taken_[first / bits];
        std::uint64_t seen = word.load(std::memory_order_relaxed);
        const std::uint64_t usable =
            count_ - first >= bits ? ~std::uint64_t{0} : (std::uint64_t{1} << (count_ - first)) - 1;
        while (const std::uint64_t free = usable & ~seen) {
          const int slot = __builtin_ctzll(free);
          if (word.compare_exchange_weak(seen, seen | (std::uint64_t{1} << slot), std::memory_order_acquire))
            return first + slot;
        }
      }
  }
  void release(int slot) {
    taken_[slot / bits].fetch_and(~(std::uint64_t{1} << (slot % bits)), std::memory_order_release);
  }

  int count_;
  std::atomic<std::uint64_t> taken_[max_slots / bits] = {};
};

}  // namespace tril::parallel
