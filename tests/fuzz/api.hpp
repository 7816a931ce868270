#pragma once

#include "contexts.hpp"

namespace tril::test {

/// Each makes calls as the choices say, and ends the process if one breaks the contract.
void try_attention(choices& c, contexts& all);
void try_merge(choices& c, contexts& all);
void try_projection(choices& c, contexts& all);
void try_context(choices& c);

}  // namespace tril::test
