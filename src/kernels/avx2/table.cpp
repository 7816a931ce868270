#include "kernels/avx2/isa.hpp"

#include "kernels/generic/table.hpp"
