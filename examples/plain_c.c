/* tril from C99. Structs are filled from their TRIL_..._INIT, fields set by name; every call returns a status. */

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tril/tril.h>

enum { rows = 4, keys = 6, heads = 2, dim = 8 };

static float q[rows][heads][dim], k[keys][heads][dim], v[keys][heads][dim], out[rows][heads][dim], lse[rows][heads];

static int check(tril_status status) {
  if (status.code != TRIL_OK) fprintf(stderr, "%s\n", status.message);
  return status.code == TRIL_OK;
}

int main(void) {
  tril_context_args context_args = TRIL_CONTEXT_ARGS_INIT;
  tril_context* context;
  tril_kv_layout kv = TRIL_KV_LAYOUT_INIT;
  tril_attention_args args = TRIL_ATTENTION_ARGS_INIT;
  tril_attention_data data = TRIL_ATTENTION_DATA_INIT;
  tril_status refused;
  float worst = 0;

  /* Keys of zeros score 0: each row's output is the mean of the values that it sees, here of 0, 1 ... j. */
  for (int j = 0; j < keys; ++j)
    for (int h = 0; h < heads; ++h)
      for (int c = 0; c < dim; ++c) v[j][h][c] = (float)j;

  context_args.threads = 1;
  if (!check(tril_context_create(&context_args, &context))) return 1;

  kv.k = tril_bthd(TRIL_F32, 1, keys, heads, dim);
  kv.v = tril_bthd(TRIL_F32, 1, keys, heads, dim);
  args.q = tril_bthd(TRIL_F32, 1, rows, heads, dim);
  args.out = args.q;
  args.lse = tril_bthd(TRIL_F32, 1, rows, heads, 1);
  args.kv = &kv;
  data.q = q, data.k = k, data.v = v;
  data.out = out, data.lse = &lse[0][0];
  if (!check(tril_attention(context, &args, &data))) return 1;

  /* Rows are the last positions: row i sits at keys - rows + i and sees keys 0 ... keys - rows + i. */
  for (int i = 0; i < rows; ++i) {
    const int seen = keys - rows + i + 1;
    printf("row %d sees %d keys: mean %.2f, lse %.4f = ln %d\n", i, seen, out[i][0][0], lse[i][0], seen);
    for (int h = 0; h < heads; ++h)
      worst = fmaxf(worst, fmaxf(fabsf(out[i][h][0] - (float)(seen - 1) / 2), fabsf(lse[i][h] - logf((float)seen))));
  }

  /* A mistake is named, and nothing has been written. */
  kv.k.extents[2] = kv.v.extents[2] = 3;
  refused = tril_attention(context, &args, &data);
  printf("with three KV heads: \"%s\"\n", refused.message);

  tril_context_destroy(context);
  return worst < 1e-6f && refused.code == TRIL_INVALID_ARGUMENT && strncmp(refused.message, "k:", 2) == 0 ? 0 : 1;
}
