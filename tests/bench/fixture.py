"""A run as Google Benchmark would write it, of a machine that does not exist. Values repeat from call to call."""

PEAKS = {"scalar": 16.2, "sse42": 65.1, "avx2": 134.4, "avx512": 268.7}  # GFLOP/s of one thread
BANDWIDTH = {"scalar": 26.6, "sse42": 33.0, "avx2": 31.4, "avx512": 31.9}
BEST = {"scalar": 0.65, "sse42": 0.79, "avx2": 0.88, "avx512": 0.91}
PRESET = "qwen3-0.6b"
Q_HEADS, KV_HEADS, DIM = 16, 8, 128

CONTEXT = {
    "date": "2024-05-06T07:08:09+00:00",
    "host_name": "laboratory",
    "executable": "bench_prefill",
    "num_cpus": 2,
    "mhz_per_cpu": 2600,
    "caches": [{"type": "Data", "level": 1, "size": 49152, "num_sharing": 1},
               {"type": "Instruction", "level": 1, "size": 32768, "num_sharing": 1},
               {"type": "Unified", "level": 2, "size": 1048576, "num_sharing": 1},
               {"type": "Unified", "level": 3, "size": 33554432, "num_sharing": 2}],
    "load_avg": [0.1, 0.2, 0.3],
    "library_build_type": "release",
    "tril_version": "0.1.0",
}


def entry(name, milliseconds, **counters):
    return {"name": name, "run_name": name, "run_type": "iteration", "repetitions": 1, "repetition_index": 0,
            "threads": 1, "iterations": 15, "real_time": milliseconds, "cpu_time": milliseconds, "time_unit": "ms",
            **{key.replace("_per_", "/"): value for key, value in counters.items()}}


def jitter(*what):
    """A share within 1 % of 1 that looks like noise."""
    return 1 + (sum(str(what).encode()) * 7919 % 201 - 100) / 10000


def prefill():
    for tokens in (128, 512, 1024, 2048, 4096, 8192, 16384):
        for threads in (1, 2):
            for isa, peak in PEAKS.items():
                limit = peak * (1.96 if threads == 2 else 1) * jitter(isa, threads, tokens)
                of_peak = BEST[isa] / (1 + 60 / tokens) * jitter(tokens, isa) / 1.01
                of_peak *= 1 if threads == 1 else (1 - 20 / tokens) * jitter(isa, tokens, "both")
                flops = 2 * Q_HEADS * DIM * tokens * (tokens + 1)
                rate = limit * of_peak
                moved = 8 * DIM * tokens * (Q_HEADS + KV_HEADS)
                yield entry(f"prefill/f32/{PRESET}/{tokens}/{threads}/{isa}", flops / rate * 1e-6, GFLOP_per_s=rate,
                            of_peak=of_peak, speedup_vs_naive=rate / 2.9, computed_over_visible=1 + 27 / tokens,
                            workspace_MiB=4.0 + tokens / 1024, peak_GFLOP_per_s=limit, FLOP_per_B=flops / moved)


def other_shapes():
    for shape, tokens in (("gpt-2-x4", 1024), ("bert-base-x8", 512), (f"{PRESET}-chunk-512", 16384),
                          (f"{PRESET}-chunk-512", 131072), (f"{PRESET}-ragged", 2048), (f"{PRESET}-window-1024", 8192),
                          *((f"heads-32-8-dim-{dim}", 2048) for dim in (80, 96, 112, 128, 256))):
        for threads in (1, 2):
            for isa in ("avx2", "avx512"):
                share = BEST[isa] * 0.97 * jitter(shape, isa, threads)
                limit = PEAKS[isa] * threads
                yield entry(f"prefill/f32/{shape}/{tokens}/{threads}/{isa}", 10.0, GFLOP_per_s=limit * share,
                            of_peak=share, peak_GFLOP_per_s=limit)


def decode():
    for tokens in (1024, 4096, 16384, 65536):
        for threads in (1, 2):
            for isa, bandwidth in BANDWIDTH.items():
                for cache in ("cold", "warm"):
                    for phase in ("decode", "decode_bthd"):
                        limit = bandwidth * (1.4 if threads == 2 else 1) * jitter(isa, phase, tokens)
                        share = {"scalar": 0.28, "sse42": 0.52, "avx2": 0.66, "avx512": 0.74}[isa]
                        share *= (0.8 if phase == "decode_bthd" else 1) * jitter(tokens, threads, isa)
                        size = 8 * KV_HEADS * DIM * tokens
                        yield entry(f"{phase}/f32/{PRESET}/{tokens}/{threads}/{isa}/{cache}",
                                    size / limit / share * 1e-6, GB_per_s=limit * share, of_bandwidth=share,
                                    limit_GB_per_s=limit, FLOP_per_B=Q_HEADS / (2 * KV_HEADS))


def projection():
    for name, size in (("qwen3-0.6b", 2048 * 1024), ("llama-7b", 4096 * 4096)):
        for isa in ("avx512", "avx2"):
            limit, share = BANDWIDTH[isa], 0.95 * jitter(name, isa)
            yield entry(f"projection/f32/{name}/1/1/{isa}/cold", 4 * size / limit / share * 1e-6,
                        GB_per_s=limit * share, of_bandwidth=share, limit_GB_per_s=limit)
            for rows in (64, 512, 2048):
                rate = PEAKS[isa] * 0.9 * jitter(name, isa, rows)
                for threads in (1, 2):
                    yield entry(f"projection/f32/{name}/{rows}/{threads}/{isa}",
                                2 * size * rows / rate / threads * 1e-6, GFLOP_per_s=rate * threads,
                                of_peak=rate / PEAKS[isa], peak_GFLOP_per_s=PEAKS[isa] * threads)


def ladder():
    flops = 2 * Q_HEADS * DIM * 2048 * 2049
    steps = [("naive_masked", 1, 1.44), ("naive_truncated", 1, 2.9), ("naive_vectorised", 1, 4.7)]
    steps += [(isa, threads, PEAKS[isa] * 0.86 * threads**0.96) for threads in (1, 2) for isa in PEAKS]
    for step, threads, rate in steps:
        yield entry(f"ladder/f32/{PRESET}/2048/{threads}/{step}", flops / rate * 1e-6, GFLOP_per_s=rate,
                    speedup_vs_naive=rate / 2.9)


def others():
    yield entry(f"overhead/f32/{PRESET}/1/1/avx512", 0.0021)
    yield entry("avx512/prefill_f32_f32/qk/12x32", 0.0004, GFLOP_per_s=262.0, of_peak=0.985)
    yield entry("avx512/prefill_f32_f32/softmax", 0.0001)


def run():
    """One run with a row of everything, in which every goal is met."""
    return {"context": dict(CONTEXT), "benchmarks": [*prefill(), *other_shapes(), *decode(), *projection(), *ladder(),
                                                   *others()]}
