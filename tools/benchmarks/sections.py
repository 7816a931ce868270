"""What a report shows of a run: pictures, each with the numbers that it draws."""

import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from . import canvas, runs

ISAS = ("scalar", "sse42", "avx2", "avx512")
STORAGE = {"decode": "head-major", "decode_bthd": "token-major"}
STEPS = {"naive_masked": "naive, masked", "naive_truncated": "naive, truncated",
         "naive_vectorised": "naive, vectorised"}


@dataclass(frozen=True)
class Number:
    """A figure of the run, and as it is read."""
    value: float
    text: str


@dataclass(frozen=True)
class Picture:
    name: str
    caption: str
    alt: str
    header: list
    table: list
    draw: Callable  # (theme) -> figure


@dataclass(frozen=True)
class Section:
    id: str
    title: str
    pictures: list


def digits(value, count=3):
    """`count` significant digits, none of them as an exponent."""
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    before = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    return f"{value:,.{max(count - max(before, 1), 0)}f}".replace(",", "\u202f")


def number(value, count=3):
    return Number(value, digits(value, count))


def share(value):
    return Number(value, f"{value:.3f}")


def whole(value):
    return Number(value, str(value))


def in_threads(count):
    return f"{count} thread" if count == 1 else f"{count} threads"


def isas_of(rows):
    """The instruction sets of some rows, narrow ones first."""
    names = dict.fromkeys(row.isa for row in rows)
    return sorted(names, key=lambda isa: ISAS.index(isa) if isa in ISAS else len(ISAS))


def by_isa(rows):
    return {isa: [row for row in rows if row.isa == isa] for isa in isas_of(rows)}


def typical(rows, wanted):
    """The rows with `wanted` tokens; where there are none, those with the most."""
    tokens = {row.tokens for row in rows}
    chosen = wanted if wanted in tokens else max(tokens, default=0)
    return [row for row in rows if row.tokens == chosen]


def peak_of(row):
    return row.counters.get("peak_GFLOP/s") or row["GFLOP/s"] / row["of_peak"]


def bandwidth_of(row):
    return row.counters.get("limit_GB/s") or row["GB/s"] / row["of_bandwidth"]


class Report:
    """The sections of one run, of one model: the one with the most rows."""

    def __init__(self, run):
        self.run = run
        known = Counter(row.preset for row in run.rows if row.preset)
        self.preset = known.most_common(1)[0][0] if known else ""

    def select(self, *counters, **fields):
        return self.run.select(*counters, preset=self.preset, dtype="f32", **fields)

    def prefill(self, **fields):
        return self.select("GFLOP/s", "of_peak", phase="prefill", **fields)

    def decode(self, **fields):
        return self.select("GB/s", "of_bandwidth", phase=set(STORAGE), cache="cold", **fields)

    def sections(self):
        """The sections that have anything to show."""
        thread_counts = sorted({row.threads for row in self.prefill() + self.decode()})
        found = [
            Section("ladder", "The ladder", [self.ladder()]),
            Section("isas", "Instruction sets side by side", [self.isas()]),
            Section("roofline", "Roofline", [self.roofline(count) for count in thread_counts]),
            Section("tokens", "Scaling over tokens", [self.prefill_tokens(), self.decode_tokens()]),
            Section("threads", "Scaling over threads", [self.threads()]),
        ]
        for section in found:
            if pictures := [picture for picture in section.pictures if picture]:
                yield Section(section.id, section.title, pictures)

    # Each of the following gives a picture, or None without rows for it.

    def ladder(self):
        rows = typical(self.select("GFLOP/s", phase="ladder"), 2048)
        textbook = sorted((row for row in rows if row.isa in STEPS), key=lambda row: list(STEPS).index(row.isa))
        ours = [row for row in rows if row.isa not in STEPS]
        if not textbook or not ours:
            return None
        best = max((row for row in ours if row.threads == ours[0].threads), key=lambda row: row["GFLOP/s"]).isa
        rows = textbook + [row for row in ours if row.isa == best]
        speeds = [row["GFLOP/s"] for row in rows]
        names = [STEPS.get(row.isa, f"{row.isa}, {in_threads(row.threads)}") for row in rows]
        total = [speed / speeds[0] for speed in speeds]
        step = [1.0] + [b / a for a, b in zip(speeds, speeds[1:])]

        def draw(theme):
            figure, (ax,) = canvas.new_figure(theme, 0.8 + 0.42 * len(rows))
            ax.grid(visible=False)
            ax.grid(axis="x", color=theme.grid, linewidth=0.7)
            colors = [theme.quiet if row.isa in STEPS else canvas.color_of(theme, row.isa) for row in rows]
            floor = 0.8 * min(total)
            ax.barh(range(len(rows)), [value - floor for value in total], left=floor, height=0.58, color=colors)
            ax.set_xscale("log")
            ax.set_xlim(floor, max(total) * 5)
            canvas.plain_log(ax.xaxis)
            ax.set_yticks(range(len(rows)), names, color=theme.ink, fontsize=9.5)
            ax.tick_params(axis="y", length=0)
            ax.spines["left"].set_visible(False)
            ax.invert_yaxis()
            for i, value in enumerate(total):
                text = f"{digits(value)}" + ("" if i == 0 else f"  (\u00d7 {digits(step[i], 2)})")
                ax.annotate(text, (value, i), xytext=(6, 0), textcoords="offset points", va="center", fontsize=9,
                            color=theme.ink)
            canvas.title(ax, theme, f"Speed over {names[0]}, and the factor of each step")
            return figure

        table = [[name, number(row.milliseconds, 4), number(row["GFLOP/s"]), number(t), number(s)]
                 for name, row, t, s in zip(names, rows, total, step)]
        header = ["step", "ms", "GFLOP/s", "over the first", "over the one before"]
        steps = "; ".join(f"{name} {digits(value)}" for name, value in zip(names, total))
        return Picture(
            "ladder", f"Prefill of {rows[0].tokens} tokens ({self.preset}, float32), step by step from what a textbook "
            "writes to tril with its fastest instruction set. The axis is logarithmic.",
            f"Bars of speed relative to {names[0]}: {steps}.", header, table, draw)

    def isas(self):
        prefill = typical(self.prefill(threads=1), 2048)
        decode = typical([row for row in self.decode(threads=1) if row.phase == "decode"], 16384)
        panels = [(rows, title, rate, share_of, limit, unit) for rows, title, rate, share_of, limit, unit in (
            (prefill, "Prefill of {} tokens, GFLOP/s", "GFLOP/s", "of_peak", peak_of, "peak"),
            (decode, "Decode step over {} keys, cold, GB/s", "GB/s", "of_bandwidth", bandwidth_of, "bandwidth"))
            if rows]
        if not panels:
            return None

        def draw(theme):
            heights = [0.55 + 0.36 * len(rows) for rows, *_ in panels]
            figure, axes = canvas.new_figure(theme, sum(heights) + 0.3, rows=len(panels), ratios=heights)
            for ax, (rows, title, rate, share_of, limit, unit) in zip(axes, panels):
                order = [row for group in by_isa(rows).values() for row in group]
                limits = [limit(row) for row in order]
                places = range(len(order))
                ax.barh(places, limits, height=0.66, color=theme.fill)
                ax.barh(places, [row[rate] for row in order], height=0.36,
                        color=[canvas.color_of(theme, row.isa) for row in order])
                ax.set_yticks(places, [row.isa for row in order], color=theme.ink, fontsize=9.5)
                ax.tick_params(axis="y", length=0)
                ax.spines[["left", "bottom"]].set_visible(False)
                ax.xaxis.set_visible(False)  # every bar says its length
                ax.set_xlim(0, max(*limits, *(row[rate] for row in order)) * 1.42)
                ax.invert_yaxis()
                ax.grid(visible=False)
                for place, row in enumerate(order):
                    ax.annotate(f"{digits(row[rate])}, {row[share_of]:.2f} of {unit}",
                                (max(limits[place], row[rate]), place), xytext=(6, 0), textcoords="offset points",
                                va="center", fontsize=9, color=theme.ink)
                canvas.title(ax, theme, title.format(rows[0].tokens))
            return figure

        table = [[title.split(",")[0].format(rows[0].tokens), row.isa, Number(row[rate], f"{digits(row[rate])} {rate}"),
                  Number(limit(row), f"{digits(limit(row))} {rate}"), share(row[share_of])]
                 for rows, title, rate, share_of, limit, unit in panels
                 for group in by_isa(rows).values() for row in group]
        alt = "; ".join(f"{what}: {isa} {rate.text}, {of.text} of the limit" for what, isa, rate, _, of in table)
        return Picture("isas", "One thread. The pale bar is the limit that the same instruction set reached beside "
                       "each sample: its multiply-add peak, or reading as many bytes.", f"Bars. {alt}.",
                       ["work", "instruction set", "rate", "limit", "share"], table, draw)

    def roofline(self, threads):
        prefill = self.prefill(threads=threads)
        decode = typical(self.decode(threads=threads), 16384)
        peaks = {isa: statistics.median(map(peak_of, rows)) for isa, rows in by_isa(prefill).items()}
        bandwidths = {isa: statistics.median(map(bandwidth_of, rows)) for isa, rows in by_isa(decode).items()}
        isas = [isa for isa in peaks if isa in bandwidths]
        if not isas:
            return None
        decode_intensity = decode[0]["FLOP/B"]
        points = [(row, f"prefill, {row.tokens} tokens", row["FLOP/B"], row["GFLOP/s"]) for row in prefill]
        points += [(row, f"decode, {row.tokens} keys, {STORAGE[row.phase]}", row["FLOP/B"],
                    row["GB/s"] * row["FLOP/B"]) for row in decode]

        def draw(theme):
            figure, (ax,) = canvas.new_figure(theme, 4.1)
            left, right = 0.25 * decode_intensity, 1.6 * max(point[2] for point in points)
            lowest = min(point[3] for point in points)
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.set_xlim(left, right)
            ax.set_ylim(0.25 * lowest, 1.5 * max(*peaks.values(), *(point[3] for point in points)))
            canvas.plain_log(ax.xaxis)
            canvas.plain_log(ax.yaxis)
            ax.grid(visible=False)
            for isa in isas:
                color = canvas.color_of(theme, isa)
                ridge = peaks[isa] / bandwidths[isa]
                ax.plot([left, ridge, right], [left * bandwidths[isa], peaks[isa], peaks[isa]], color=color,
                        linewidth=1.1)
                for row, _, x, y in points:
                    if row.isa == isa:
                        hollow = row.phase == "decode_bthd"
                        ax.plot(x, y, canvas.marker_of(isa), markersize=5.5, color=color, markeredgewidth=1.1,
                                markerfacecolor="none" if hollow else color)
            remark = {"textcoords": "offset points", "fontsize": 9, "color": theme.quiet, "va": "top"}
            last = [y for row, _, _, y in points if row.phase == "prefill" and row.tokens == prefill[-1].tokens]
            ax.annotate(f"prefill, {prefill[0].tokens} to {prefill[-1].tokens} tokens",
                        (right, min(last)), xytext=(0, -9), ha="right", **remark)
            ax.annotate(f"decode, {decode[0].tokens} keys\nfilled head-major, hollow token-major",
                        (decode_intensity, lowest), xytext=(-5, -9), linespacing=1.3, **remark)
            canvas.title(ax, theme, f"GFLOP/s, {in_threads(threads)}")
            canvas.x_label(ax, theme, "flops per byte of q, k, v and out")
            canvas.label_ends(ax, [(right, peaks[isa], f"{isa}, {digits(peaks[isa])}", canvas.color_of(theme, isa))
                                   for isa in isas], offset=5)
            return figure

        table = [[what, row.isa, number(x), number(y), number(peaks[row.isa] if row.phase == "prefill" else
                  x * bandwidths[row.isa])] for row, what, x, y in points if row.isa in isas]
        best = "; ".join(f"{isa} reaches {digits(max(y for row, _, _, y in points if row.isa == isa))} of "
                         f"{digits(peaks[isa])} GFLOP/s" for isa in isas)
        roofs = ", ".join(f"{isa} {digits(bandwidths[isa])} GB/s" for isa in isas)
        return Picture(
            f"roofline-{threads}", f"Every point against the roofs measured beside it, {in_threads(threads)}. The "
            f"slopes are the read bandwidth ({roofs}), the levels the multiply-add peak of each instruction set.",
            f"Roofline: {best}. Prefill lies under the level roofs, decode under the slopes.",
            ["work", "instruction set", "flops per byte", "GFLOP/s", "roof, GFLOP/s"], table, draw)

    def over_tokens(self, name, rows, share_of, fit, of_what, work, unit):
        groups = {isa: group for isa, group in by_isa(rows).items() if len(group) > 1}
        if not groups:
            return None
        tokens = sorted({row.tokens for group in groups.values() for row in group})
        fits = {}
        for isa, group in groups.items():
            inside = [row for row in group if fit[0] <= row.tokens <= fit[1]]
            fitted = inside if len(inside) > 1 else group
            fits[isa] = runs.exponent([(row.tokens, row.milliseconds) for row in fitted])

        def draw(theme):
            figure, (time, of_limit) = canvas.new_figure(theme, 5.2, rows=2, ratios=[3, 2], sharex=True)
            canvas.tokens_axis(time, tokens)
            time.set_yscale("log")
            canvas.plain_log(time.yaxis)
            for isa, group in groups.items():
                color, (slope, factor) = canvas.color_of(theme, isa), fits[isa]
                x = [row.tokens for row in group]
                time.plot([x[0], x[-1]], [factor * x[0]**slope, factor * x[-1]**slope], color=color, linewidth=1)
                time.plot(x, [row.milliseconds for row in group], canvas.marker_of(isa), color=color, markersize=5)
                of_limit.plot(x, [row[share_of] for row in group], canvas.marker_of(isa) + "-", color=color,
                              markersize=5, linewidth=1.4)
            of_limit.set_ylim(0, max(1.0, 1.05 * max(row[share_of] for group in groups.values() for row in group)))
            canvas.title(time, theme, "Milliseconds")
            canvas.title(of_limit, theme, of_what)
            canvas.x_label(of_limit, theme, unit)
            canvas.label_ends(time, [(group[-1].tokens, group[-1].milliseconds, f"{isa}, T$^{{{fits[isa][0]:.2f}}}$",
                                      canvas.color_of(theme, isa)) for isa, group in groups.items()])
            canvas.label_ends(of_limit, [(group[-1].tokens, group[-1][share_of], isa, canvas.color_of(theme, isa))
                                         for isa, group in groups.items()])
            return figure

        table = [[isa, whole(row.tokens), number(row.milliseconds, 4), share(row[share_of])]
                 for isa, group in groups.items() for row in group]
        slopes = ", ".join(f"{isa} {fits[isa][0]:.2f}" for isa in groups)
        return Picture(name, f"{work}, one thread. The lines are fitted between {fit[0]} and {fit[1]} {unit}; their "
                       f"exponents: {slopes}.",
                       f"{work}: time over {unit} on logarithmic axes with exponents {slopes}; below, "
                       f"{of_what.lower()}.", ["instruction set", unit, "ms", of_what.lower()], table, draw)

    def prefill_tokens(self):
        return self.over_tokens("prefill-tokens", self.prefill(threads=1), "of_peak", (2048, 8192), "Share of the peak",
                                f"Prefill ({self.preset}, float32)", "tokens")

    def decode_tokens(self):
        rows = [row for row in self.decode(threads=1) if row.phase == "decode"]
        return self.over_tokens("decode-tokens", rows, "of_bandwidth", (4096, 65536), "Share of the bandwidth",
                                f"A decode step ({self.preset}, float32, cold, head-major)", "keys")

    def threads(self):
        alone = {(row.isa, row.tokens): row for row in self.prefill(threads=1)}
        many = [row for row in self.prefill() if row.threads > 1 and (row.isa, row.tokens) in alone]
        if not many:
            return None

        def scaling(row):
            return row["of_peak"] / alone[row.isa, row.tokens]["of_peak"]

        most = max(row.threads for row in many)
        groups = by_isa([row for row in many if row.threads == most])
        tokens = sorted({row.tokens for group in groups.values() for row in group})

        def draw(theme):
            figure, (ax,) = canvas.new_figure(theme, 3.1)
            canvas.tokens_axis(ax, tokens)
            values = [scaling(row) for group in groups.values() for row in group]
            low, high = min(0.8, *values), max(1.0, *values)
            ax.set_ylim(low - 0.1 * (high - low), high + 0.2 * (high - low))
            ax.axhline(1, color=theme.quiet, linewidth=0.9)
            for isa, group in groups.items():
                ax.plot([row.tokens for row in group], [scaling(row) for row in group], canvas.marker_of(isa) + "-",
                        color=canvas.color_of(theme, isa), markersize=5, linewidth=1.4)
            canvas.title(ax, theme, f"Speed-up by {most} threads, as a share of the probe's own")
            canvas.x_label(ax, theme, "tokens")
            canvas.label_ends(ax, [(group[-1].tokens, scaling(group[-1]), isa, canvas.color_of(theme, isa))
                                   for isa, group in groups.items()])
            return figure

        table = [[row.isa, whole(row.tokens), whole(row.threads),
                  Number(row["GFLOP/s"] / alone[row.isa, row.tokens]["GFLOP/s"],
                         digits(row["GFLOP/s"] / alone[row.isa, row.tokens]["GFLOP/s"])), share(scaling(row))]
                 for group in by_isa(many).values() for row in group]
        worst = min((scaling(row), row.isa, row.tokens) for group in groups.values() for row in group)
        return Picture(
            "threads", "1 is what the multiply-add probe gains from the same threads, which on shared or throttled "
            "cores is less than their number.",
            f"Thread scaling of prefill against the probe's, {most} threads: lowest {worst[0]:.3f} for {worst[1]} at "
            f"{worst[2]} tokens.",
            ["instruction set", "tokens", "threads", "speed-up", "share of the probe's"], table, draw)
