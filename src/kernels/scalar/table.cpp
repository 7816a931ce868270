#include "kernels/generic/table.hpp"
#include "kernels/scalar/isa.hpp"
