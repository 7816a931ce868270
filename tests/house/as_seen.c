#include "as_seen.h"

#define SEEN seen_by_c
#define INITIAL initial_in_c
#include "as_seen.inc"
