#pragma once

namespace tril::test {

/// Tells main that a context of this instruction set has been at work. A run with TRIL_ISA set fails unless
/// its name has been noted: a test that quietly ran something else shows nothing.
void note_isa(const char* name);

}  // namespace tril::test
