"""The look of the pictures: colours, type, and labels that stand beside what they name."""

import io
from dataclasses import dataclass

import matplotlib

matplotlib.use("Agg")
from matplotlib import ticker  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

DOTS_PER_INCH = 240
WIDTH = 5.4  # inches: type as large as a page's text where the picture fills the column, still legible on a telephone


@dataclass(frozen=True)
class Theme:
    suffix: str
    paper: str
    ink: str
    quiet: str  # of axes and remarks
    grid: str
    fill: str  # of what lies behind bars
    isas: dict
    others: tuple


# Colours that differ in lightness as well as in hue, and that read as text on their paper.
LIGHT = Theme("", "#ffffff", "#1b1f24", "#5b6470", "#e6e8eb", "#e9ecef",
              {"scalar": "#6a6f76", "sse42": "#b04a00", "avx2": "#00796b", "avx512": "#0b4fa8"}, ("#8a2f86", "#7a5c00"))
DARK = Theme("-dark", "#14171a", "#eef1f4", "#a3acb8", "#2a3037", "#2a3037",
             {"scalar": "#b3bac3", "sse42": "#ff9f5a", "avx2": "#4fd0ba", "avx512": "#7db4ff"}, ("#e39be0", "#e0c060"))
THEMES = (LIGHT, DARK)
MARKERS = {"scalar": "D", "sse42": "^", "avx2": "s", "avx512": "o"}


def color_of(theme, isa):
    return theme.isas.get(isa) or theme.others[sum(isa.encode()) % len(theme.others)]


def marker_of(isa):
    return MARKERS.get(isa, "P")


def new_figure(theme, height, rows=1, ratios=None, **share):
    """A figure of `height` inches, and its axes, one above the other."""
    figure = Figure(figsize=(WIDTH, height), dpi=DOTS_PER_INCH, facecolor=theme.paper, layout="constrained")
    figure.get_layout_engine().set(h_pad=0.07)
    axes = figure.subplots(rows, 1, squeeze=False, height_ratios=ratios, **share)[:, 0]
    for ax in axes:
        ax.set_facecolor(theme.paper)
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(theme.quiet)
        ax.spines[["left", "bottom"]].set_linewidth(0.7)
        ax.tick_params(which="both", colors=theme.quiet, labelsize=9, width=0.7, length=3)
        ax.tick_params(which="minor", length=0)
        ax.grid(axis="y", color=theme.grid, linewidth=0.7)
        ax.set_axisbelow(True)
    return figure, axes


def title(ax, theme, text):
    """What the vertical axis shows, written where a reader begins: top left."""
    ax.set_title(text, loc="left", fontsize=10, color=theme.ink, pad=9)


def x_label(ax, theme, text):
    ax.set_xlabel(text, fontsize=9.5, color=theme.quiet, labelpad=5)


def tokens_axis(ax, tokens):
    """Powers of two are read as such: 128, 1024, 16k."""
    ax.set_xscale("log", base=2)
    ax.set_xticks(tokens, [f"{t // 1024}k" if t >= 1024 and t % 1024 == 0 else str(t) for t in tokens])
    ax.xaxis.set_minor_locator(ticker.NullLocator())


def plain_log(axis):
    """A decimal logarithmic axis with 0.1, 10, 1000 instead of powers."""
    axis.set_major_locator(ticker.LogLocator(base=10))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.10g}".replace(",", "\u202f")))
    axis.set_minor_locator(ticker.NullLocator())


def label_ends(ax, labels, gap=12.5, offset=9):
    """Labels (x, y, text, color) right of their points, moved apart where they would touch. Set limits before."""
    points_per_dot = 72 / ax.figure.dpi
    ax.figure.draw_without_rendering()  # settles the layout that positions are taken from
    placed = sorted(([ax.transData.transform((x, y))[1] * points_per_dot, x, y, text, color]
                     for x, y, text, color in labels), key=lambda label: label[0])
    heights = [label[0] for label in placed]
    for _ in range(100):
        for i in range(1, len(heights)):
            overlap = gap - (heights[i] - heights[i - 1])
            if overlap > 0:
                heights[i - 1] -= overlap / 2
                heights[i] += overlap / 2
    for height, (own, x, y, text, color) in zip(heights, placed):
        ax.annotate(text, (x, y), xytext=(offset, height - own), textcoords="offset points", va="center", color=color,
                    fontsize=9, annotation_clip=False)


def png(figure):
    """The figure as the bytes of a PNG file that says nothing of when it was made."""
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return out.getvalue()
