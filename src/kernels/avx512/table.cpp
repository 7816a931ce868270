#include "kernels/avx512/isa.hpp"

#include "kernels/generic/table.hpp"
