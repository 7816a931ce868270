#include "kernels/neon/isa.hpp"

#include "kernels/generic/table.hpp"
