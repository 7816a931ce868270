/* A program of C99 that knows the installed library alone: a small attention beside a plain loop. */

#include <math.h>
#include <stdio.h>
#include <tril/tril.h>

enum { rows = 5, keys = 300, q_heads = 4, kv_heads = 2, dim = 8, value_dim = 6 };

static float q[rows][q_heads][dim], k[keys][kv_heads][dim], v[keys][kv_heads][value_dim];
static float out[rows][q_heads][value_dim];

/* In [-1, 1), the same for everyone who counts in 32 bits. */
static void fill(float* values, int count, uint32_t seed) {
  for (int i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
  }
}

static double score(int row, int head, int key) {
  double sum = 0;
  for (int c = 0; c < dim; ++c) sum += (double)q[row][head][c] * k[key][head / (q_heads / kv_heads)][c];
  return sum / sqrt(dim);
}

static double worst_error(void) {
  double worst = 0;
  for (int row = 0; row < rows; ++row)
    for (int head = 0; head < q_heads; ++head)
      for (int c = 0; c < value_dim; ++c) {
        double weights = 0, sum = 0;
        for (int key = 0; key <= keys - rows + row; ++key) {
          const double weight = exp(score(row, head, key));
          weights += weight;
          sum += weight * v[key][head / (q_heads / kv_heads)][c];
        }
        worst = fmax(worst, fabs(out[row][head][c] - sum / weights));
      }
  return worst;
}

int main(void) {
  tril_context_args context_args = TRIL_CONTEXT_ARGS_INIT;
  tril_context* context = NULL;
  tril_kv_layout kv = TRIL_KV_LAYOUT_INIT;
  tril_attention_args args = TRIL_ATTENTION_ARGS_INIT;
  tril_attention_data data = TRIL_ATTENTION_DATA_INIT;
  tril_status status;
  double error;

  fill(&q[0][0][0], rows * q_heads * dim, 1);
  fill(&k[0][0][0], keys * kv_heads * dim, 2);
  fill(&v[0][0][0], keys * kv_heads * value_dim, 3);

  kv.k = tril_bthd(TRIL_F32, 1, keys, kv_heads, dim);
  kv.v = tril_bthd(TRIL_F32, 1, keys, kv_heads, value_dim);
  args.q = tril_bthd(TRIL_F32, 1, rows, q_heads, dim);
  args.out = tril_bthd(TRIL_F32, 1, rows, q_heads, value_dim);
  args.kv = &kv;
  data.q = q, data.k = k, data.v = v, data.out = out;

  context_args.threads = 2;
  status = tril_context_create(&context_args, &context);
  if (status.code == TRIL_OK) status = tril_attention(context, &args, &data);
  if (status.code != TRIL_OK) {
    puts(status.message);
    return 1;
  }
  error = worst_error();
  printf("tril %s, %s: error %.1e\n", tril_version(), tril_context_isa(context), error);
  tril_context_destroy(context);
  return error < 1e-6 ? 0 : 1;
}
