/* The structs of tril.h as the language of the including file sees them. Once per language, in one executable. */
#ifndef TRIL_TESTS_AS_SEEN_H
#define TRIL_TESTS_AS_SEEN_H

#include "tril/tril.h"

struct as_seen {
  const char* name; /* "tril_layout", "tril_layout.strides" */
  size_t offset, size;
};

struct initial_value {
  const char* type;
  const void* value;
  size_t size;
};

/* Both end with a null name. */
#ifdef __cplusplus
extern "C" {
#endif
extern const struct as_seen seen_by_c[];
extern const struct initial_value initial_in_c[];
#ifdef __cplusplus
}
#endif

#endif
