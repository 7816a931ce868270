/** @file
 * tril: SIMD attention kernels for CPUs. The C ABI, complete.
 *
 *     s_ij  = <scale * q_i, k_j>                      scale = 1/sqrt(dim) unless given
 *     m_i   = max over the visible keys j of s_ij
 *     l_i   = sum over the visible keys j of exp(s_ij - m_i)
 *     o_i   = sum over the visible keys j of exp(s_ij - m_i) v_j / l_i
 *     lse_i = m_i + ln l_i                            natural logarithm
 *
 * Scaled dot-product attention: Vaswani et al., "Attention Is All You Need", 2017, eq. 1; 1/sqrt(dim) keeps
 * the variance of a score independent of dim (their section 3.2.1). The maximum is subtracted so that
 * nothing overflows, and found while the keys go by: Milakov and Gimelshein, "Online normalizer calculation
 * for softmax", 2018, in tiles as Dao et al., "FlashAttention", 2022.
 *
 * Lengths count tokens, strides elements, sizes in memory bytes. Accumulation is float32.
 *
 * Every function that can fail returns a tril_status by value. Nothing throws, aborts or traps. Every
 * precondition is checked once, before anything is written: after an error no output has changed, unless
 * it is TRIL_EXECUTOR_FAILED, after which outputs hold anything.
 *
 * Structs that begin with struct_size may grow. Fill them from their TRIL_..._INIT and set fields by
 * name: a program compiled against an older header keeps working. Structs without it never change. */
#ifndef TRIL_TRIL_H
#define TRIL_TRIL_H

#include <stddef.h>
#include <stdint.h>

#define TRIL_VERSION_MAJOR 0 /**< Major version of this header; tril_version() tells the library's. */
#define TRIL_VERSION_MINOR 1 /**< Minor version. */
#define TRIL_VERSION_PATCH 0 /**< Patch level. */

/** Marks what the library exports. */
#if defined(__GNUC__)
#define TRIL_API __attribute__((visibility("default")))
#else
#define TRIL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ------------------------------------------------------------------------------------ */

/** The kinds of failure. */
typedef enum tril_code {
  TRIL_OK = 0,               /**< success */
  TRIL_INVALID_ARGUMENT = 1, /**< a precondition does not hold; the message names the argument */
  TRIL_UNSUPPORTED = 2,      /**< valid, but not on this CPU or in this build */
  TRIL_OUT_OF_MEMORY = 3,    /**< a workspace or a plan could not be allocated */
  TRIL_EXECUTOR_FAILED = 4   /**< the caller's executor did not run every task exactly once */
} tril_code;

#define TRIL_MESSAGE_BYTES 124 /**< Room for a message and its NUL. */

/** What became of a call: a code and a sentence, held by value, never allocated. */
typedef struct tril_status {
  int32_t code;                     /**< a tril_code */
  char message[TRIL_MESSAGE_BYTES]; /**< "" after success; else NUL-terminated, "k: 7 heads do not divide q's 16" */
} tril_status;

/* ---- tensors ----------------------------------------------------------------------------------- */

/** The types of an element. */
typedef enum tril_dtype {
  TRIL_F32 = 1 /**< IEEE 754 binary32 */
} tril_dtype;

/** The geometry of a tensor `[batch][token][head][dim]`; its data pointer is passed when a plan runs.
 * The stride of dim must be 1, the others may be anything (also negative or, for inputs, 0) as long as an
 * output does not overlap itself; strides of extents 0 and 1 are never looked at. Data are aligned to
 * their element. This struct never changes. */
typedef struct tril_layout {
  int32_t dtype;      /**< a tril_dtype */
  int32_t reserved;   /**< 0 */
  int64_t extents[4]; /**< batch, tokens, heads, dim; the first two at least 0, the others at least 1 */
  int64_t strides[4]; /**< batch, tokens, heads, dim; in elements */
} tril_layout;

/** Contiguous `[batch][tokens][heads][dim]`. An output of this layout is the concatenation of the heads. */
static inline tril_layout tril_bthd(tril_dtype dtype, int64_t batch, int64_t tokens, int64_t heads, int64_t dim) {
  tril_layout layout = {(int32_t)dtype, 0, {0, 0, 0, 0}, {0, 0, 0, 1}};
  layout.extents[0] = batch, layout.extents[1] = tokens, layout.extents[2] = heads, layout.extents[3] = dim;
  /* Unsigned, so that absurd extents wrap instead of being undefined; the library checks them. */
  layout.strides[2] = dim;
  layout.strides[1] = (int64_t)((uint64_t)heads * (uint64_t)dim);
  layout.strides[0] = (int64_t)((uint64_t)layout.strides[1] * (uint64_t)tokens);
  return layout;
}

/** Contiguous `[batch][heads][tokens][dim]` ("head-major"). */
static inline tril_layout tril_bhtd(tril_dtype dtype, int64_t batch, int64_t heads, int64_t tokens, int64_t dim) {
  tril_layout layout = tril_bthd(dtype, batch, tokens, heads, dim);
  layout.strides[1] = dim;
  layout.strides[2] = (int64_t)((uint64_t)tokens * (uint64_t)dim);
  layout.strides[0] = (int64_t)((uint64_t)layout.strides[2] * (uint64_t)heads);
  return layout;
}

/* ---- contexts: which instruction set, which threads --------------------------------------------- */

/** A thread pool of the caller's. parallel_for runs task(closure, i) exactly once for every i in
 * [0, count), in any order, on any threads, and returns when all are done. A task that is skipped or
 * run twice is reported as TRIL_EXECUTOR_FAILED; a task that is still running after parallel_for has
 * returned cannot be detected and is undefined behaviour. This struct never changes. */
typedef struct tril_executor {
  /** Handed to parallel_for. */
  void* self;
  /** Runs the tasks; may be called from several threads at once, if the context is. */
  void (*parallel_for)(void* self, int64_t count, void (*task)(void* closure, int64_t i), void* closure);
} tril_executor;

/** Which instruction set and which threads. Immutable; may be used from many threads at once. */
typedef struct tril_context tril_context;

/** What a context is made from. */
typedef struct tril_context_args {
  size_t struct_size;     /**< from TRIL_CONTEXT_ARGS_INIT */
  const char* isa;        /**< as tril_isa_name() lists them; NULL: the environment's TRIL_ISA if set, else the best */
  int32_t threads;        /**< most at work at once, up to 1024; 0: the cores this process may use; 1: no thread pool */
  tril_executor executor; /**< parallel_for NULL: the library's own threads */
} tril_context_args;

/* clang-format off */
/** A struct of this type, empty but for its size. */
#ifdef __cplusplus
extern "C++" {
template <class T>
constexpr T tril_sized() {
  T value{};
  value.struct_size = sizeof(T);
  return value;
}
}
#define TRIL_SIZED(type) tril_sized<type>()
#else
#define TRIL_SIZED(type) {.struct_size = sizeof(type)}
#endif
/* clang-format on */
/** A tril_context_args of all defaults. */
#define TRIL_CONTEXT_ARGS_INIT TRIL_SIZED(tril_context_args)

/** Makes a context. args NULL: all defaults. An ISA that this build lacks is TRIL_INVALID_ARGUMENT; one that
 * this machine lacks is TRIL_UNSUPPORTED; another one is never chosen silently. `*context` is NULL after an
 * error. */
TRIL_API tril_status tril_context_create(const tril_context_args* args, tril_context** context);
/** NULL is allowed; plans made from the context stay valid. */
TRIL_API void tril_context_destroy(tril_context* context);
/** The instruction set in use, "avx2"; "" for NULL. */
TRIL_API const char* tril_context_isa(const tril_context* context);
/** The most threads at work at once; 0 for NULL. */
TRIL_API int32_t tril_context_threads(const tril_context* context);

/** The instruction sets of this build, in ascending order of preference. NULL beyond the last. */
TRIL_API const char* tril_isa_name(int32_t index);
/** 1 if this CPU and operating system can run it, else 0; 0 for what is not in this build. */
TRIL_API int32_t tril_isa_supported(const char* name);
/** The version of the library, "0.1.0". */
TRIL_API const char* tril_version(void);

/* ---- attention --------------------------------------------------------------------------------- */

/** Where keys and values lie. */
typedef struct tril_kv_layout {
  size_t struct_size;     /**< from TRIL_KV_LAYOUT_INIT */
  tril_layout k;          /**< `[batch][keys][kv heads][dim]` */
  tril_layout v;          /**< `[batch][keys][kv heads][value_dim]` */
  const int32_t* lengths; /**< `[batch]`: keys that each sequence has, 0 ... keys; NULL: all of them */
} tril_kv_layout;

/** An empty tril_kv_layout. */
#define TRIL_KV_LAYOUT_INIT TRIL_SIZED(tril_kv_layout)

/** Flags of an attention problem. */
enum {
  TRIL_FULL = 1u << 0,     /**< not causal: a row sees every key that window and lengths leave it */
  TRIL_SCALE_SET = 1u << 1 /**< `scale` replaces 1/sqrt(dim) */
};

/** An attention problem: shapes and options, no data.
 *
 * Row i of a sequence sits at position p = query_offset + i and sees the keys j < length with
 *
 *     j <= p                                        unless TRIL_FULL
 *     p - window_left <= j <= p + window_right      a bound of -1 is no bound
 *
 * query_offset is (keys of the sequence) - (rows of the sequence) unless given: the last row sees the
 * last key (bottom-right alignment). 0 gives top-left alignment. A row that sees no key gives +0.0 in
 * every element and lse = -inf. A key that a row does not see has no effect on any bit of that row.
 * Query head h uses KV head h / (q heads / kv heads), rounded down; kv heads must divide q heads. */
typedef struct tril_attention_args {
  size_t struct_size;       /**< from TRIL_ATTENTION_ARGS_INIT */
  tril_layout q;            /**< `[batch][rows][q heads][dim]`; heads at least 1, dim 1 ... 1024 */
  tril_layout out;          /**< `[batch][rows][q heads][value_dim]`; value_dim 1 ... 1024 */
  tril_layout lse;          /**< `[batch][rows][q heads][1]`, TRIL_F32; all zero: no lse is wanted */
  const tril_kv_layout* kv; /**< read while the plan is made */
  const int32_t* q_lengths; /**< `[batch]`: rows that each sequence has, 0 ... rows; NULL: all. Rows beyond are neither
                               read nor written */
  const int32_t* query_offset; /**< `[batch]`: position of each sequence's row 0, may be negative; NULL: keys - rows */
  uint32_t flags;              /**< TRIL_FULL | TRIL_SCALE_SET; default 0: causal, scaled by 1/sqrt(dim) */
  float scale;                 /**< finite; used with TRIL_SCALE_SET */
  int64_t window_left;         /**< keys before the row's own position; default -1: unbounded */
  int64_t window_right;        /**< keys after it; default -1: unbounded */
} tril_attention_args;

/* clang-format off */
/** A tril_attention_args of all defaults: causal, no window, scaled by 1/sqrt(dim). */
#ifdef __cplusplus
extern "C++" {
constexpr tril_attention_args tril_attention_defaults() {
  tril_attention_args args = tril_sized<tril_attention_args>();
  args.window_left = args.window_right = -1;
  return args;
}
}
#define TRIL_ATTENTION_ARGS_INIT tril_attention_defaults()
#else
#define TRIL_ATTENTION_ARGS_INIT {.struct_size = sizeof(tril_attention_args), .window_left = -1, .window_right = -1}
#endif
/* clang-format on */

/** The pointers of one run. Each addresses the element `[0][0][0][0]` of its layout. An output must not
 * overlap an input, the other output or the workspace. */
typedef struct tril_attention_data {
  size_t struct_size;     /**< from TRIL_ATTENTION_DATA_INIT */
  const void *q,          /**< read; NULL is allowed where its layout has no elements */
      *k,                 /**< read, likewise */
      *v;                 /**< read, likewise */
  void* out;              /**< written; NULL is allowed where its layout has no elements */
  float* lse;             /**< written; NULL exactly when the layout of lse is all zero */
  void* workspace;        /**< 64-byte aligned; NULL: allocated for the call */
  size_t workspace_bytes; /**< at least tril_plan_workspace_bytes() when workspace is given */
} tril_attention_data;

/** A tril_attention_data of null pointers. */
#define TRIL_ATTENTION_DATA_INIT TRIL_SIZED(tril_attention_data)

/** Computes attention once: makes a plan, runs it and destroys it. */
TRIL_API tril_status tril_attention(const tril_context* context, const tril_attention_args* args,
                                    const tril_attention_data* data);

/** A plan is a validated problem, cut into tasks. It copies everything it needs, so that the arrays and
 * structs it was made from may go away; it is immutable and may run from many threads at once, each run
 * with its own workspace. */
typedef struct tril_plan tril_plan;

/** Checks args and cuts the work. Errors: TRIL_INVALID_ARGUMENT naming q, k, v, out, lse or an option;
 * TRIL_UNSUPPORTED for flags that this library does not know; TRIL_OUT_OF_MEMORY. `*plan` is NULL after an
 * error. */
TRIL_API tril_status tril_plan_create(const tril_context* context, const tril_attention_args* args, tril_plan** plan);
/** NULL is allowed. */
TRIL_API void tril_plan_destroy(tril_plan* plan);
/** Errors: TRIL_INVALID_ARGUMENT naming q, k, v, out, lse or workspace; TRIL_OUT_OF_MEMORY, if the workspace
 * is the library's to allocate; TRIL_EXECUTOR_FAILED. */
TRIL_API tril_status tril_plan_run(const tril_plan* plan, const tril_attention_data* data);

/** Exactly the bytes that a run uses. With a workspace of that size, a run allocates nothing. */
TRIL_API size_t tril_plan_workspace_bytes(const tril_plan* plan);

/** The kernel that attends, as `tril info` lists it: "avx512/attend_split_f32_f32"; "" for NULL. With the status of
 * tril_plan_create() and tril_plan_workspace_bytes() that is all there is to know of a problem before it runs. */
TRIL_API const char* tril_plan_kernel(const tril_plan* plan);

/** For engines with their own threads and barriers: a run is stages in ascending order, a barrier after
 * each, and within a stage tasks in any order on any threads. */
TRIL_API int64_t tril_plan_stages(const tril_plan* plan);
/** The tasks of a stage; 0 for a stage that does not exist. */
TRIL_API int64_t tril_plan_tasks(const tril_plan* plan, int64_t stage);
/** Runs one task on the calling thread. `worker` in [0, threads of the context) is the thread's scratch; two
 * tasks at work at once must not share it. The data, which must name a workspace, must be the same for all
 * tasks of a run. Errors: TRIL_INVALID_ARGUMENT. */
TRIL_API tril_status tril_plan_run_task(const tril_plan* plan, int64_t stage, int64_t task, int32_t worker,
                                        const tril_attention_data* data);

/* ---- merge ------------------------------------------------------------------------------------- */

/** Joins partial results over disjoint sets of keys into the result over their union:
 *
 *     m = max lse_i,  w_i = exp(lse_i - m),  out = sum w_i out_i / sum w_i,  lse = m + ln sum w_i
 *
 * as a left fold in the order given; a part with lse = -inf is the identity, bit for bit. Commutative
 * for two parts. Within (2 (|lse_a| + |lse_b|) + 16) 2^-24 max|out| per fold of the undivided call, but
 * not bit-equal to it. (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018.)
 * All parts have the layouts of the result. The result may be one of the parts, and overlap no other. */
typedef struct tril_merge_args {
  size_t struct_size;           /**< from TRIL_MERGE_ARGS_INIT */
  tril_layout out_layout;       /**< `[batch][rows][q heads][value_dim]` */
  tril_layout lse_layout;       /**< `[batch][rows][q heads][1]`, TRIL_F32 */
  int64_t parts;                /**< at least 1 */
  const void* const* part_out;  /**< `[parts]`, each of out_layout */
  const float* const* part_lse; /**< `[parts]`, each of lse_layout */
  void* out;                    /**< the result, of out_layout */
  float* lse;                   /**< and its lse, of lse_layout */
} tril_merge_args;

/** A tril_merge_args without parts. */
#define TRIL_MERGE_ARGS_INIT TRIL_SIZED(tril_merge_args)

/** See tril_merge_args. Errors: TRIL_INVALID_ARGUMENT naming parts, out, lse, or what overlaps;
 * TRIL_EXECUTOR_FAILED. */
TRIL_API tril_status tril_merge(const tril_context* context, const tril_merge_args* args);

/* ---- projection -------------------------------------------------------------------------------- */

/** A linear layer, y = x W^T + bias: W_O, which follows the concatenation of the heads (Vaswani et al., section
 * 3.2.2). Every element is one sum over `in`, from +0 and in ascending order, then plus its bias, so that a row has
 * the same bits whichever rows come with it. */
typedef struct tril_projection_args {
  size_t struct_size;        /**< from TRIL_PROJECTION_ARGS_INIT */
  int64_t in;                /**< elements of a row of x, 1 ... 2^24: heads times value_dim, which need not equal out */
  int64_t out;               /**< elements of a row of y, 1 ... 2^24 */
  const float* weight;       /**< `[out][in]`; read while the projection is made */
  int64_t weight_strides[2]; /**< of out and in, in elements, at least 0; both 0: contiguous */
  const float* bias;         /**< `[out]`, read likewise; NULL: none */
} tril_projection_args;

/** A tril_projection_args without a weight. */
#define TRIL_PROJECTION_ARGS_INIT TRIL_SIZED(tril_projection_args)

/** Rows to be projected. y must not overlap x. */
typedef struct tril_projection_data {
  size_t struct_size;   /**< from TRIL_PROJECTION_DATA_INIT */
  tril_layout x_layout; /**< `[batch][rows][heads][dim]`, heads times dim being `in`: an output of attention as it lies;
                           dim up to 2^24 */
  tril_layout y_layout; /**< `[batch][rows][1][out]` */
  const void* x;        /**< read; NULL is allowed where its layout has no elements */
  void* y;              /**< written, likewise */
} tril_projection_data;

/** A tril_projection_data of null pointers. */
#define TRIL_PROJECTION_DATA_INIT TRIL_SIZED(tril_projection_data)

/** A weight, packed once, and its bias. Immutable; may run from many threads at once. */
typedef struct tril_projection tril_projection;

/** Packs a copy of the weight. Errors: TRIL_INVALID_ARGUMENT naming in, out, weight, weight_strides or bias;
 * TRIL_OUT_OF_MEMORY. `*projection` is NULL after an error. */
TRIL_API tril_status tril_projection_create(const tril_context* context, const tril_projection_args* args,
                                            tril_projection** projection);
/** NULL is allowed. */
TRIL_API void tril_projection_destroy(tril_projection* projection);
/** Errors: TRIL_INVALID_ARGUMENT naming x or y; TRIL_OUT_OF_MEMORY; TRIL_EXECUTOR_FAILED. */
TRIL_API tril_status tril_projection_run(const tril_projection* projection, const tril_projection_data* data);

/* ---- cost -------------------------------------------------------------------------------------- */

/** What a problem takes. Exact: visible pairs are counted, not estimated. */
typedef struct tril_cost {
  size_t struct_size;    /**< from TRIL_COST_INIT */
  int64_t visible_pairs; /**< (row, key) pairs over all sequences and query heads */
  int64_t flops;         /**< 2 (dim + value_dim) visible_pairs: the two products; the softmax is not counted */
  int64_t kv_bytes;      /**< K and V that some row sees, once per KV head */
  int64_t q_bytes;       /**< queries read */
  int64_t out_bytes;     /**< outputs and lse written */
} tril_cost;

/** A tril_cost of zeros. */
#define TRIL_COST_INIT TRIL_SIZED(tril_cost)

/** Counts, without data and without a context. Errors: those of tril_plan_create(); counts of more than 64 bits
 * are TRIL_INVALID_ARGUMENT. */
TRIL_API tril_status tril_attention_cost(const tril_attention_args* args, tril_cost* cost);

#ifdef __cplusplus
}
#endif

#endif
