#include "kernels/scalar/isa.hpp"

#include "kernels/generic/table.hpp"
