"""A report as one HTML page that needs nothing besides itself."""

import base64
import datetime
import itertools
from html import escape

from .sections import Number, number

STYLE = """
:root { color-scheme: light dark;
  --paper: #ffffff; --ink: #1b1f24; --quiet: #5b6470; --line: #dfe2e6; --miss: #a4262c; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171a; --ink: #eef1f4; --quiet: #a3acb8; --line: #2f363d; --miss: #ff8f8a; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; }
header, main, nav { max-width: 46rem; margin: 0 auto; padding: 0 1rem; }
header { padding-top: 3rem; }
h1 { margin: 0; font-size: 2rem; line-height: 1.2; font-weight: 650; letter-spacing: -0.015em; }
h2 { margin: 3.5rem 0 0; font-size: 1.3rem; line-height: 1.3; font-weight: 650; letter-spacing: -0.01em; }
.lead { margin: 0.5rem 0 1.5rem; font-size: 1.1rem; color: var(--quiet); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1.25rem; margin: 0; font-size: 0.9rem; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; margin: 1.5rem 0 0; padding: 0.75rem 0; list-style: none;
  border-block: 1px solid var(--line); font-size: 0.9rem; }
a { color: inherit; text-decoration-color: var(--quiet); text-underline-offset: 0.2em; }
a:focus-visible, summary:focus-visible, .scroll:focus-visible { outline: 2px solid currentColor; outline-offset: 3px; }
figure { margin: 1.25rem 0 2.25rem; max-width: 40rem; }
img { display: block; width: 100%; height: auto; }
figcaption { margin-top: 0.75rem; font-size: 0.9rem; color: var(--quiet); }
details { margin-top: 0.6rem; font-size: 0.9rem; }
summary { cursor: pointer; width: max-content; color: var(--quiet); }
.scroll { overflow-x: auto; margin-top: 0.6rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.85rem; line-height: 1.4;
  font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.9rem 0.3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { font-weight: 600; color: var(--quiet); border-bottom-color: var(--quiet); vertical-align: bottom; }
tbody th { font-weight: 400; }
.n { text-align: right; white-space: nowrap; }
.rows tbody th, .goals td { white-space: nowrap; }
.goals tbody th { min-width: 10rem; }
.goals th[scope="rowgroup"] { padding-top: 1.1rem; font-weight: 600; }
small { display: block; color: var(--quiet); font-size: 0.8rem; }
.miss { color: var(--miss); font-weight: 650; }
.unrun { color: var(--quiet); }
footer { height: 4rem; }
"""
# Belt and braces: a browser that honours this cannot load anything from elsewhere either.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
RIGHT = ' class="n"'
ROW = ' scope="row"'


def cell(value, tag="td", attributes=""):
    if isinstance(value, Number):
        # repr gives back the very double that was read.
        return f'<{tag}{RIGHT}><data value="{escape(repr(value.value))}">{escape(value.text)}</data></{tag}>'
    return f"<{tag}{attributes}>{escape(str(value))}</{tag}>"


def table(header, rows, caption, kind="numbers"):
    """A table whose first column names its rows; wide ones scroll by themselves."""
    numeric = [any(isinstance(row[i], Number) for row in rows) for i in range(len(header))]
    head = "".join(f'<th scope="col"{RIGHT if right else ""}>{escape(text)}</th>'
                   for text, right in zip(header, numeric))
    body = "\n".join(f"<tr>{cell(row[0], 'th', ROW)}{''.join(map(cell, row[1:]))}</tr>" for row in rows)
    return (f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">\n'
            f'<table class="{kind}">\n<thead><tr>{head}</tr></thead>\n'
            f"<tbody>\n{body}\n</tbody>\n</table>\n</div>")


def data_uri(png):
    return "data:image/png;base64," + base64.b64encode(png).decode()


def size_of(png):
    """Width and height from a PNG's header."""
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def figure(picture, light, dark):
    width, height = size_of(light)
    return (f'<figure id="{picture.name}">\n<picture>\n'
            f'<source media="(prefers-color-scheme: dark)" srcset="{data_uri(dark)}">\n'
            f'<img src="{data_uri(light)}" width="{width}" height="{height}" alt="{escape(picture.alt)}">\n</picture>\n'
            f"<figcaption>{escape(picture.caption)}</figcaption>\n"
            "<details><summary>The numbers</summary>\n"
            f"{table(picture.header, picture.table, picture.alt)}\n</details>\n</figure>")


def breakable(name):
    """A benchmark's name, which may be broken after its slashes."""
    return escape(name).replace("/", "/<wbr>")


def goals_table(goals, verdicts):
    """The goals, a group of rows for each figure."""
    kinds = {"FAIL": ' class="miss"', "no run": ' class="unrun"'}
    groups = []
    for figure, group in itertools.groupby(verdicts, key=lambda verdict: verdict.figure):
        lines = [f'<tr><th colspan="5" scope="rowgroup">{escape(figure)}</th></tr>']
        for verdict in group:
            rows, _, measured, must, aim, result, note = goals.cells(verdict)
            value = "" if verdict.measured is None else Number(verdict.measured, measured)
            remark = f"<small>{breakable(note)}</small>" if note else ""
            lines.append(f'<tr><th scope="row">{breakable(rows)}{remark}</th>'
                         f"{cell(result, attributes=kinds.get(result, ''))}{cell(value)}{cell(must)}{cell(aim)}</tr>")
        groups.append("<tbody>\n" + "\n".join(lines) + "\n</tbody>")
    head = "".join(f'<th scope="col"{RIGHT if text == "measured" else ""}>{text}</th>'
                   for text in ("rows", "result", "measured", "must be", "aim"))
    return ('<div class="scroll" tabindex="0" role="region" aria-label="Goals">\n<table class="goals">\n'
            f"<thead><tr>{head}</tr></thead>\n" + "\n".join(groups) + "\n</table>\n</div>")


def all_rows(run):
    counters = list(dict.fromkeys(name for row in run.rows for name in row.counters))
    rows = [[row.name, "" if row.error else number(row.milliseconds, 4),
             *(number(row[name], 4) if name in row else "" for name in counters)] for row in run.rows]
    return table(["name", "ms", *counters], rows, "Every row", "rows")


def date_of(context):
    try:
        day = datetime.datetime.fromisoformat(context["date"])
    except (KeyError, TypeError, ValueError):
        return str(context.get("date", ""))
    return f"{day.day} {day:%B %Y, %H:%M}"


def cache_text(caches):
    parts = []
    for cache in caches if isinstance(caches, list) else []:
        if isinstance(cache, dict) and cache.get("type") != "Instruction" and isinstance(cache.get("size"), int):
            kib = cache["size"] // 1024
            size = f"{kib // 1024} MiB" if kib >= 1024 else f"{kib} KiB"
            parts.append(f"L{cache.get('level')} {size}")
    return ", ".join(parts)


# What a run says of itself: keys of the context that the page words itself, then any other that is a short text.
WORDED = {"date", "tril_version", "num_cpus", "mhz_per_cpu", "caches", "load_avg", "cpu_scaling_enabled", "host_name",
          "library_build_type", "library_version", "json_schema_version", "executable", "aslr_enabled", "cpu"}


def facts(run):
    context = run.context
    clock = f" at {context['mhz_per_cpu']} MHz" if "mhz_per_cpu" in context else ""
    found = {
        "tril": context.get("tril_version", ""),
        "date": date_of(context),
        "processor": context.get("cpu", ""),
        "machine": f"{context.get('host_name', '')}, {context['num_cpus']} processors{clock}".removeprefix(", ")
        if "num_cpus" in context else context.get("host_name", ""),
        "caches": cache_text(context.get("caches")),
    }
    found |= {key: value for key, value in context.items() if key not in WORDED and isinstance(value, str)}
    return {key: str(value) for key, value in found.items() if value}


def render(run, preset, sections, pictures, goals, verdicts):
    """The page. `pictures` maps the names of pictures, and with "-dark" after them, to PNG bytes."""
    said = facts(run)
    pictured = f" Pictures show {preset}, float32." if pictures else ""
    entries = "\n".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in said.items())
    links = "\n".join(f'<li><a href="#{anchor}">{escape(text)}</a></li>' for anchor, text in
                      [*((s.id, s.title) for s in sections), ("goals", "Goals"), ("rows", "Every row")])
    body = "\n".join(
        f'<section id="{section.id}">\n<h2>{escape(section.title)}</h2>\n'
        + "\n".join(figure(p, pictures[p.name], pictures[p.name + "-dark"]) for p in section.pictures) + "\n</section>"
        for section in sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<link rel="icon" href="data:,">
<title>tril: benchmarks</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>tril: benchmarks</h1>
<p class="lead">Causal attention on CPUs, as a share of what the machine can do.{escape(pictured)}</p>
<dl>
{entries}
</dl>
</header>
<nav aria-label="Sections"><ul>
{links}
</ul></nav>
<main>
{body}
<section id="goals">
<h2>Goals</h2>
<p>{escape(goals.count(verdicts))}.</p>
{goals_table(goals, verdicts)}
</section>
<section id="rows">
<h2>Every row</h2>
<details><summary>{len(run.rows)} rows</summary>
{all_rows(run)}
</details>
</section>
</main>
<footer></footer>
</body>
</html>
"""
