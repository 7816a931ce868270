#include "kernels/sse42/isa.hpp"

#include "kernels/generic/table.hpp"
