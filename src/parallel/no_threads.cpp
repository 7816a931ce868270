/// Stands in for tbb.cpp with -Dthreads=serial.

#include "parallel/executor.hpp"

namespace tril::parallel {

// The number is kept: an engine that runs a plan's tasks itself asks for its own number of threads.
std::unique_ptr<executor> make_threads(int threads) { return make_serial(threads); }

}  // namespace tril::parallel
