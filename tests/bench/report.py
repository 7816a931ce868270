#!/usr/bin/env python3
"""Tests of tools/bench-report: what it writes, and how a browser shows it.

usage: report.py BENCH_REPORT [UNITTEST ARGUMENTS]

Skipped, exit status 77, without matplotlib or chromium.
"""

import base64
import html
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib
from html.parser import HTMLParser
from pathlib import Path

sys.dont_write_bytecode = True
import fixture  # noqa: E402

REPORT = None  # the program
BROWSER = shutil.which("chromium")
PICTURES = ("ladder", "isas", "roofline-1", "roofline-2", "prefill-tokens", "decode-tokens", "threads")
SECTIONS = ("ladder", "isas", "roofline", "tokens", "threads", "goals", "rows")


def report(directory, *contents, **environment):
    """Runs the program on these runs, texts or objects; its result."""
    with tempfile.TemporaryDirectory() as inputs:
        files = []
        for number, content in enumerate(contents):
            files.append(Path(inputs, f"run{number}.json"))
            files[-1].write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return subprocess.run([REPORT, *files, "-o", directory], capture_output=True, text=True, check=False,
                              env={**os.environ, **environment})


class Page(HTMLParser):
    """The parts of a page that the tests look at."""

    def __init__(self, text):
        super().__init__()
        self.text, self.ids, self.images, self.figures = text, [], [], []
        self.addresses = []  # whatever could be loaded or gone to
        self.tables = {}  # id of section or figure: rows of cells, each a text or the double of a <data>
        self.place, self.row, self.cell, self.value = "", None, None, None
        self.open = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag not in ("meta", "link", "img", "source", "wbr"):
            self.open.append(tag)
        self.addresses += [value for key, value in attributes.items()
                           if key in ("src", "srcset", "href", "data", "action", "poster", "background")]
        if "id" in attributes:
            self.ids.append(attributes["id"])
            if tag in ("section", "figure"):
                self.place = attributes["id"]
        if tag == "img":
            self.images.append(attributes)
        if tag == "figure":
            self.figures.append(attributes["id"])
        if tag == "table":
            self.tables[self.place] = []
        if tag == "tr":
            self.row = []
        if tag in ("td", "th"):
            self.cell, self.value = "", None
        if tag == "data":
            self.value = float(attributes["value"])

    def handle_data(self, data):
        if self.cell is not None and self.open[-1] != "small":
            self.cell += data

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"
        if tag in ("td", "th"):
            self.row.append(self.cell if self.value is None else (self.value, self.cell))
            self.cell = None
        if tag == "tr":
            self.tables[self.place].append(self.row)


def pixels(png):
    """Width, height and the inflated scan lines of a PNG file; an error if it is none."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body, (crc,) = png[at + 8:at + 8 + length], struct.unpack(">I", png[at + 8 + length:at + 12 + length])
        assert zlib.crc32(kind + body) == crc
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
        if kind == b"IDAT":
            data += body
        at += 12 + length
    return width, height, zlib.decompress(data)


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.content = fixture.run()
        result = report(cls.directory, cls.content)
        assert (result.returncode, result.stdout, result.stderr) == (0, "", ""), result.stderr
        cls.text = (cls.directory / "report.html").read_text(encoding="utf-8")
        cls.page = Page(cls.text)
        cls.rows = {entry["name"]: entry for entry in cls.content["benchmarks"]}

    def entries(self, pattern):
        return [entry for name, entry in self.rows.items() if re.fullmatch(pattern, name)]

    def test_files(self):
        expected = {"report.html"} | {f"{name}{dark}.png" for name in PICTURES for dark in ("", "-dark")}
        self.assertEqual({path.name for path in self.directory.iterdir()}, expected)

    def test_sections(self):
        self.assertEqual([name for name in self.page.ids if name in SECTIONS and name not in PICTURES],
                         [name for name in SECTIONS if name not in PICTURES])
        self.assertEqual(tuple(self.page.figures), PICTURES)
        for link in re.findall(r'href="#([^"]*)"', self.text):
            self.assertIn(link, self.page.ids)
        self.assertEqual(self.page.open, [])

    def test_a_table_behind_every_picture(self):
        for name in (*PICTURES, "goals", "rows"):
            self.assertGreater(len(self.page.tables[name]), 2, name)

    def test_pictures(self):
        self.assertEqual(len(self.page.images), len(PICTURES))
        for image, name in zip(self.page.images, PICTURES):
            self.assertGreater(len(image["alt"]), 40)
            light = (self.directory / f"{name}.png").read_bytes()
            dark = (self.directory / f"{name}-dark.png").read_bytes()
            self.assertEqual(base64.b64decode(image["src"].removeprefix("data:image/png;base64,")), light)
            self.assertIn(base64.b64encode(dark).decode(), self.text)
            width, height, lines = pixels(light)
            self.assertEqual((image["width"], image["height"]), (str(width), str(height)))
            self.assertGreater(len(set(lines)), 20, f"{name} is blank")
            self.assertNotEqual(lines, pixels(dark)[2])

    def test_nothing_is_loaded_from_elsewhere(self):
        for address in self.page.addresses:
            self.assertRegex(address, r"^(#|data:)")
        self.assertNotRegex(self.text, r"(?i)<script|@import|url\(|https?://|//\w+\.\w")

    def test_every_number_is_that_of_the_run(self):
        header, *lines = self.page.tables["rows"]
        self.assertEqual([line[0] for line in lines], list(self.rows))
        for line in lines:
            entry = self.rows[line[0]]
            shown = dict(zip(header[1:], line[1:]))
            self.assertEqual(shown.pop("ms")[0], entry["real_time"])
            counters = {name: cell[0] for name, cell in shown.items() if cell}
            self.assertEqual(counters, {name: value for name, value in entry.items() if name in shown})
            if "of_peak" in entry:
                self.assertIn("of_peak", counters)

    def test_text_of_numbers(self):
        for name, lines in self.page.tables.items():
            for value, text in (cell for line in lines for cell in line if isinstance(cell, tuple)):
                read = float(re.match(r"[\d.]+", text.replace("\u202f", ""))[0])
                self.assertAlmostEqual(read, value, delta=max(0.005 * abs(value), 0.0006), msg=f"{name}: {text}")

    def test_numbers_behind_the_pictures(self):
        tables = self.page.tables
        ladder = {line[0]: line[1:] for line in tables["ladder"][1:]}
        self.assertEqual(list(ladder), ["naive, masked", "naive, truncated", "naive, vectorised", "avx512, 1 thread",
                                        "avx512, 2 threads"])
        rate = {name: self.rows[f"ladder/f32/qwen3-0.6b/2048/{name}"]["GFLOP/s"]
                for name in ("1/naive_masked", "1/naive_vectorised", "1/avx512", "2/avx512")}
        self.assertEqual(ladder["avx512, 1 thread"][1][0], rate["1/avx512"])
        self.assertEqual(ladder["avx512, 1 thread"][2][0], rate["1/avx512"] / rate["1/naive_masked"])
        self.assertEqual(ladder["avx512, 1 thread"][3][0], rate["1/avx512"] / rate["1/naive_vectorised"])
        self.assertEqual(ladder["avx512, 2 threads"][3][0], rate["2/avx512"] / rate["1/avx512"])

        prefill = self.rows["prefill/f32/qwen3-0.6b/2048/1/avx2"]
        self.assertIn(["Prefill of 2048 tokens", "avx2",
                       *(prefill[key] for key in ("GFLOP/s", "peak_GFLOP/s", "of_peak"))],
                      [line[:2] + [cell[0] for cell in line[2:]] for line in tables["isas"][1:]])
        decode = self.rows["decode/f32/qwen3-0.6b/16384/1/avx2/cold"]
        self.assertIn([decode[key] for key in ("GB/s", "limit_GB/s", "of_bandwidth")],
                      [[cell[0] for cell in line[2:]] for line in tables["isas"][1:]])

        two = self.rows["prefill/f32/qwen3-0.6b/4096/2/sse42"]
        one = self.rows["prefill/f32/qwen3-0.6b/4096/1/sse42"]
        line = next(line for line in tables["threads"] if line[0] == "sse42" and line[1][0] == 4096)
        self.assertEqual([cell[0] for cell in line[1:]],
                         [4096, 2, two["GFLOP/s"] / one["GFLOP/s"], two["of_peak"] / one["of_peak"]])

        for name, pattern, share in (("prefill-tokens", r"prefill/f32/qwen3-0.6b/.*/1/\w+", "of_peak"),
                                     ("decode-tokens", r"decode/.*/1/\w+/cold", "of_bandwidth")):
            shown = sorted(tuple(cell[0] for cell in line[2:]) for line in tables[name][1:])
            self.assertEqual(shown, sorted((entry["real_time"], entry[share]) for entry in self.entries(pattern)))

    def test_roofline(self):
        for threads in (1, 2):
            lines = {(line[0], line[1]): [cell[0] for cell in line[2:]]
                     for line in self.page.tables[f"roofline-{threads}"][1:]}
            self.assertEqual(len(lines), 4 * (7 + 2))
            # Flops and bytes from the shape itself: 16 query heads, 8 KV heads, dimensions cancel.
            flops, size = 4 * 16 * sum(range(1, 2049)), 4 * 2048 * (16 + 8 + 8 + 16)
            intensity, rate, roof = lines["prefill, 2048 tokens", "avx2"]
            entry = self.rows[f"prefill/f32/qwen3-0.6b/2048/{threads}/avx2"]
            self.assertAlmostEqual(intensity, flops / size)
            self.assertEqual(rate, entry["GFLOP/s"])
            self.assertAlmostEqual(roof / entry["peak_GFLOP/s"], 1, delta=0.02)
            for phase, storage in (("decode", "head-major"), ("decode_bthd", "token-major")):
                intensity, rate, roof = lines[f"decode, 16384 keys, {storage}", "avx2"]
                entry = self.rows[f"{phase}/f32/qwen3-0.6b/16384/{threads}/avx2/cold"]
                self.assertEqual(intensity, 4 * 16 / (4 * (8 + 8)))
                self.assertEqual(rate, entry["GB/s"] * intensity)
                self.assertAlmostEqual(roof / entry["limit_GB/s"], 1, delta=0.02)

    def test_exponents(self):
        for name, exponent in (("prefill-tokens", 2), ("decode-tokens", 1)):
            caption = re.search(rf'<figure id="{name}">.*?<figcaption>(.*?)</figcaption>', self.text, re.DOTALL)[1]
            shown = dict(re.findall(r"(\w+) (\d\.\d\d)", caption[caption.index("exponents"):]))
            self.assertEqual(set(shown), set(fixture.PEAKS))
            for value in shown.values():
                self.assertAlmostEqual(float(value), exponent, delta=0.04)

    def test_goals(self):
        program = Path(REPORT).parents[1] / "bench" / "goals"
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(self.content, file)
            file.flush()
            printed = subprocess.run([program, file.name], capture_output=True, text=True, check=True).stdout
        self.assertIn(f"<p>{printed.splitlines()[-1]}.</p>", self.text)
        shown = [line for line in self.page.tables["goals"][1:] if len(line) > 1]
        for line, cells in zip(printed.splitlines()[1:-1], shown, strict=True):
            self.assertEqual(line.split("  ")[0], cells[0])
            self.assertIn(cells[2][1], line)
            self.assertIn(cells[3], line)
            self.assertIn(cells[1], line)

    def test_machine(self):
        for text in ("laboratory", "2 processors at 2600 MHz", "6 May 2024, 07:08", "<dd>0.1.0</dd>",
                     "L1 48 KiB, L2 1 MiB, L3 32 MiB", "qwen3-0.6b, float32"):
            self.assertIn(text, self.text)

    def test_same_run_same_bytes(self):
        with tempfile.TemporaryDirectory() as again:
            self.assertEqual(report(again, self.content).returncode, 0)
            for path in self.directory.iterdir():
                self.assertEqual((Path(again) / path.name).read_bytes(), path.read_bytes(), path.name)


class Parts(unittest.TestCase):
    """Runs that hold some things only."""

    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()), "made", "here")

    def pictures_of(self, pattern, change=lambda entry: None):
        run = fixture.run()
        run["benchmarks"] = [entry for entry in run["benchmarks"] if re.search(pattern, entry["name"])]
        for entry in run["benchmarks"]:
            change(entry)
        result = report(self.directory, run)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        page = Page((self.directory / "report.html").read_text(encoding="utf-8"))
        self.assertIn("goals", page.ids)
        self.assertEqual({path.stem for path in self.directory.glob("*[!k].png")}, set(page.figures))
        return page.figures

    def test_prefill_alone(self):
        self.assertEqual(self.pictures_of("^prefill"), ["isas", "prefill-tokens", "threads"])

    def test_decode_alone(self):
        self.assertEqual(self.pictures_of("^decode"), ["isas", "decode-tokens"])

    def test_ladder_alone(self):
        self.assertEqual(self.pictures_of("^ladder"), ["ladder"])

    def test_one_row(self):
        self.assertEqual(self.pictures_of("^prefill.*/512/1/avx2$"), ["isas"])

    def test_kernels_alone(self):
        self.assertEqual(self.pictures_of("^avx512"), [])

    def test_one_thread(self):
        self.assertEqual(self.pictures_of("/1/"), [name for name in PICTURES if name not in ("roofline-2", "threads")])

    def test_token_major_alone(self):
        self.assertEqual(self.pictures_of("^prefill.*/1/|^decode_bthd.*/1/"), ["isas", "roofline-1", "prefill-tokens"])

    def test_without_limits(self):
        """Runs of before the limits were counters: of_peak and of_bandwidth say them."""
        def change(entry):
            entry.pop("peak_GFLOP/s", None)
            entry.pop("limit_GB/s", None)

        self.assertEqual(self.pictures_of("^prefill|^decode", change), list(PICTURES[1:]))

    def test_failed_and_odd_rows(self):
        def change(entry):
            if "/avx2" in entry["name"]:
                del entry["real_time"]
                entry.update(error_occurred=True, error_message="<b>failed</b>")
            if "/sse42" in entry["name"]:
                entry.update({"of_peak": float("nan"), "GB/s": float("inf")})

        self.assertEqual(self.pictures_of(".", change), list(PICTURES))
        text = (self.directory / "report.html").read_text(encoding="utf-8")
        self.assertIn("&lt;b&gt;failed", text)
        self.assertNotIn("<b>", text)

    def test_an_instruction_set_of_the_future(self):
        def change(entry):
            entry["name"] = entry["name"].replace("avx512", "sve128")

        self.assertEqual(self.pictures_of(".", change), list(PICTURES))
        self.assertIn("sve128, 1 thread", (self.directory / "report.html").read_text(encoding="utf-8"))

    def test_text_is_escaped(self):
        run = fixture.run()
        run["context"]["host_name"] = '<img src="https://example.org/x">'
        run["context"]["note"] = "<script>1</script>"
        run["benchmarks"][0]["name"] = '"><script>2</script>'
        self.assertEqual(report(self.directory, run).returncode, 0)
        text = (self.directory / "report.html").read_text(encoding="utf-8")
        self.assertNotIn("<script", text)
        self.assertEqual(text.count("<img"), len(PICTURES))
        self.assertIn(html.escape('<img src="https://example.org/x">'), text)

    def test_models_are_not_mixed(self):
        run = fixture.run()
        other = [{**entry, "name": entry["name"].replace("qwen3-0.6b", "gpt-2"), "of_peak": 0.123}
                 for entry in run["benchmarks"] if entry["name"].startswith("prefill")]
        run["benchmarks"] += other
        self.assertEqual(report(self.directory, run).returncode, 0)
        tables = Page((self.directory / "report.html").read_text(encoding="utf-8")).tables
        self.assertNotIn("0.123", [cell[1] for line in tables["isas"] + tables["prefill-tokens"] for cell in line
                                   if isinstance(cell, tuple)])
        self.assertIn("prefill/f32/gpt-2/512/1/avx2", [line[0] for line in tables["rows"]])


class Refusals(unittest.TestCase):
    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def refused(self, result, *words):
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_runs_that_are_none(self):
        good = fixture.run()
        for text in ("", "{", "[]", '{"context": {}, "benchmarks": []}', '{"benchmarks": {}}',
                     {**good, "benchmarks": []}):
            with self.subTest(text=str(text)[:40]):
                self.refused(report(self.root / "out", text), "run0.json")
                self.refused(report(self.root / "out", good, text), "run1.json")
                self.assertFalse((self.root / "out").exists())

    def test_directories_that_cannot_be_written(self):
        (self.root / "file").write_text("kept")
        for place in (self.root / "file", self.root / "file" / "below", Path("/proc/bench-report")):
            self.refused(report(place, fixture.run()), str(place))
        self.assertEqual((self.root / "file").read_text(), "kept")
        self.assertEqual([path.name for path in self.root.iterdir()], ["file"])

    def test_a_name_that_is_taken(self):
        """A directory stands where a file belongs."""
        (self.root / "report.html" / "inside").mkdir(parents=True)
        self.refused(report(self.root, fixture.run()), str(self.root))
        self.assertEqual([path.name for path in self.root.iterdir()], ["report.html"])

    def test_arguments(self):
        for arguments in ([], ["run.json"], ["-o", self.root / "out"], ["--nonsense"]):
            self.refused(subprocess.run([REPORT, *arguments], capture_output=True, text=True, check=False))
        shown = subprocess.run([REPORT, "--help"], capture_output=True, text=True, check=True)
        self.assertIn("usage: tools/bench-report", shown.stdout)

    def test_without_matplotlib(self):
        (self.root / "matplotlib.py").write_text("raise ModuleNotFoundError(name='matplotlib')")
        result = report(self.root / "out", fixture.run(), PYTHONPATH=str(self.root))
        self.refused(result, "apt install python3-matplotlib")
        self.assertFalse((self.root / "out").exists())

    def test_stopped_half_way(self):
        """Whenever it is stopped, a file is whole or is not there."""
        runs = self.root / "run.json"
        runs.write_text(json.dumps(fixture.run()))
        for seconds in (0.5, 1.5, 2.5, 3.5):
            process = subprocess.Popen([REPORT, runs, "-o", self.root / "out"], stderr=subprocess.DEVNULL)
            time.sleep(seconds)
            process.send_signal(signal.SIGTERM)
            process.wait()
            for path in (self.root / "out").glob("*"):
                if path.suffix == ".png":
                    pixels(path.read_bytes())
                else:
                    self.assertTrue(path.read_text(encoding="utf-8").endswith("</html>\n"))


# Shows the page in frames of several widths and writes down what a reader would meet.
HARNESS = """<!DOCTYPE html><meta charset="utf-8"><body><script>
const page = PAGE;
const loaded = source => new Promise(done => {
  const image = new Image();
  image.onload = image.onerror = () => done(image.naturalWidth * image.naturalHeight);
  image.src = source;
});
const look = width => new Promise(done => {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width: ${width}px; height: 900px; border: 0`;
  frame.onload = async () => {
    const inside = frame.contentDocument, root = inside.documentElement;
    for (const details of inside.querySelectorAll("details")) details.open = true;
    const sources = [...inside.querySelectorAll("source")].map(source => source.srcset);
    done({
      client: root.clientWidth, scroll: root.scrollWidth,
      images: [...inside.images].map(image => image.naturalWidth * image.naturalHeight),
      shown: [...inside.images].map(image => image.getBoundingClientRect().width),
      dark: await Promise.all(sources.map(loaded)),
      background: frame.contentWindow.getComputedStyle(inside.body).backgroundColor,
      uses: [...inside.images].map(image => image.currentSrc === image.src),
    });
  };
  frame.srcdoc = page;
  document.body.append(frame);
});
Promise.all([400, 1280].map(look)).then(seen => {
  document.body.innerHTML = "<pre>" + JSON.stringify(seen) + "</pre>";
});
</script>"""


class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = Path(cls.enterClassContext(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        result = report(cls.directory, fixture.run())
        assert result.returncode == 0, result.stderr
        page = json.dumps((cls.directory / "report.html").read_text(encoding="utf-8")).replace("</", "<\\/")
        (cls.directory / "harness.html").write_text(HARNESS.replace("PAGE", page), encoding="utf-8")

    def browse(self, name, *options):
        """The document after it has loaded, and what the browser had to complain of."""
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                   f"--user-data-dir={self.directory / 'profile'}", "--virtual-time-budget=20000", *options,
                   "--dump-dom", (self.directory / name).as_uri()]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        return result.stdout, [line for line in result.stderr.splitlines() if "CONSOLE" in line]

    def look(self, *options):
        document, complaints = self.browse("harness.html", *options)
        self.assertEqual(complaints, [])
        return json.loads(html.unescape(re.search("<pre>(.*)</pre>", document)[1]))

    def test_no_complaints(self):
        document, complaints = self.browse("report.html")
        self.assertIn("Scaling over tokens", document)
        self.assertEqual(complaints, [])

    def test_complaints_are_seen(self):
        text = (self.directory / "report.html").read_text(encoding="utf-8")
        text = text.replace("</main>", '<img src="https://example.org/a.png"></main>')
        (self.directory / "broken.html").write_text(text, encoding="utf-8")
        self.assertNotEqual(self.browse("broken.html")[1], [])

    def test_narrow_and_wide(self):
        for seen in self.look():
            self.assertLessEqual(seen["scroll"], seen["client"])
            self.assertEqual(len(seen["images"]), len(PICTURES))
            self.assertEqual(len(seen["dark"]), len(PICTURES))
            self.assertGreater(min(seen["images"] + seen["dark"]), 0)
            self.assertGreater(min(seen["shown"]), 0.45 * seen["client"])
            self.assertLessEqual(max(seen["shown"]), seen["client"])

    def test_light_and_dark(self):
        dark, light = (self.look(f"--blink-settings=preferredColorScheme={scheme}") for scheme in (0, 1))
        self.assertEqual(light[0]["background"], "rgb(255, 255, 255)")
        self.assertTrue(all(light[0]["uses"]))
        self.assertNotEqual(dark[0]["background"], light[0]["background"])
        self.assertFalse(any(dark[0]["uses"]))


def missing():
    """What these tests need and this machine lacks."""
    interpreter = Path(REPORT).read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("#!").split()
    if subprocess.run([*interpreter, "-c", "import matplotlib"], capture_output=True, check=False).returncode != 0:
        return "matplotlib"
    return "" if BROWSER else "chromium"


if __name__ == "__main__":
    REPORT = str(Path(sys.argv.pop(1)).resolve())
    if lacking := missing():
        print(f"skipped: no {lacking}")
        sys.exit(77)
    unittest.main()
