/* Prints the structs of tril.h and their members: name, offset, size. */

#include <stdio.h>
#include <tril/tril.h>

#define STRUCT(type) printf("%s 0 %zu\n", #type, sizeof(type));
#define MEMBER(type, member) \
  printf("%s.%s %zu %zu\n", #type, #member, offsetof(type, member), sizeof(((type*)0)->member));
#define INIT(type, initialiser)

int main(void) {
#include "members.inc"
  return 0;
}
