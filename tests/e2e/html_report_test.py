# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as one HTML page: says what report --json says, loads nothing, takes no other file's place."""
import re
import shutil
import subprocess
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import harness

VOID = {"meta", "br", "hr", "img", "input", "link"}
SYMBOLS = {"identical": "=", "rounding": "≈", "precision": "≋", "data": "⇄", "random": "⚂", "algorithmic": "≠",
           "run-to-run": "↻", "inconclusive": "?"}


class PageParser(HTMLParser):
    """Tags and whether they balance, tables as text, <pre> as text, and what hovering shows."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.problems, self.tables, self.pre, self.hover = [], [], [], [], [], []
        self.text = ""
        self.feed(page)
        self.close()
        self.problems += self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append({"text": "", "hover": []})
        elif tag == "pre":
            self.pre.append("")
        if title := dict(attributes).get("title"):
            self.hover.append(title)
            if "td" in self.open:
                self.tables[-1][-1][-1]["hover"].append(title)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}>")

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.text += data
        if "pre" in self.open:
            self.pre[-1] += data
        if self.tables and ("td" in self.open or "th" in self.open):
            self.tables[-1][-1][-1]["text"] += data


class PageTest(harness.EndToEndTest):
    """Each test has a copy of one study: out. Its title would be markup."""
    study = ({"study": {"name": "<script>alert('&')</script>", "description": "One batch, or 2 × 8?", "twin": "float64",
                        "control": True}},
             harness.TINY, {"axes": {"accumulation": [1, 2], "loss_normalization": ["batch", "none"]}})

    @classmethod
    def setUpClass(cls):
        cls.made = Path(tempfile.mkdtemp(prefix="driftscope-e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.made, ignore_errors=True)
        (cls.made / "study.toml").write_text(harness.toml(harness.merged(*cls.study)))
        subprocess.run([harness.CLI, "run", "study.toml", "-o", "out"], cwd=cls.made, check=True, capture_output=True,
                       env=harness.environment())

    def setUp(self):
        super().setUp()
        shutil.copytree(self.made / "out", self.folder / "out")

    def page(self):
        self.assertEqual(self.cli("report", "out", "-o", "report.html").stdout, "")
        return (self.folder / "report.html").read_text(encoding="utf-8")


class Page(PageTest):
    def test_says_what_json_says(self):
        page = PageParser(self.page())
        self.assertEqual(page.problems, [])
        report = self.json("report", "out")
        rows = {row[0]["text"]: row for row in page.tables[0][1:]}
        shown = [run for run in report["runs"] if not run["twin"]]
        self.assertEqual(len(shown), 5)
        self.assertEqual(len(rows), 5)
        labels = {(1, "batch"): "acc 1 · norm batch", (1, "none"): "acc 1 · norm none", (2, "batch"): "acc 2 · norm batch",
                  (2, "none"): "acc 2 · norm none"}
        kinds = set()
        for run in shown:
            settings = run["settings"]
            label = labels[settings["accumulation"], settings["loss_normalization"]]
            row = rows[label + (" · again" if run["id"].endswith("~again") else "")]
            texts = [cell["text"] for cell in row]
            self.assertEqual(texts[1], run["status"])
            if run["id"] == report["reference"]:
                self.assertEqual(texts[2:], ["the reference", "", "", "", "", ""])
                continue
            kind = run["verdict"]["kind"]
            kinds.add(kind)
            self.assertEqual(texts[7], f"{SYMBOLS[kind]} {kind}")
            for cell, metric in zip(row[3:6], ("rel_l2", "max_abs", "ulp_max")):
                exact = float(cell["hover"][0] if cell["hover"] else cell["text"])
                self.assertEqual(exact, run["final"][metric], (label, metric))
                self.assertTrue(abs(float(cell["text"]) - exact) <= 0.005 * exact, (label, metric))
            if run["identical"] is False:
                self.assertIn(run["verdict"]["summary"], page.text)
                for evidence in run["verdict"]["evidence"]:
                    self.assertIn(evidence["text"], page.text)
        self.assertEqual(kinds, {"identical", "rounding", "algorithmic"})
        for effect in report["attribution"]["axes"]:
            self.assertIn(effect["axis"], page.text)
        for text in ("One batch, or 2 × 8?", report["data"], "bit-identical", "2 of 3 runs differ from acc 1 · norm batch",
                     "the reference, run again, has the same bits", "libtorch.version", "threads.intra_op"):
            self.assertIn(text, page.text)

    def test_loads_nothing_and_runs_nothing(self):
        text = self.page()
        page = PageParser(text)
        for tag, attributes in page.tags:
            self.assertNotIn(tag, ("script", "link", "iframe", "img", "object", "embed", "base", "form"))
            for key in attributes:
                self.assertFalse(key in ("src", "href", "xlink:href", "srcset", "action") or key.startswith("on"), key)
        self.assertIsNone(re.search(r"(?i)@import|url\((?!#hatch\))|src\s*=|href\s*=", re.sub(r"<pre>.*?</pre>", "", text,
                                                                                          flags=re.S)))
        self.assertIn("prefers-color-scheme", text)
        self.assertLess(len(text), 2_000_000)

    def test_plots(self):
        page = PageParser(self.page())
        lines = [attributes for tag, attributes in page.tags if tag == "polyline"]
        twins = [line for line in lines if "twin" in line["class"]]
        self.assertEqual((len(lines) - len(twins), len(twins)), (4, 3))
        for line in lines:
            points = [tuple(map(float, point.split(","))) for point in line["points"].split()]
            self.assertEqual(len(points), 11)
            self.assertTrue(all(0 <= x <= 900 and 0 <= y <= 420 for x, y in points), points)
        self.assertIn("acc 2 · norm none, fc1: ", page.text)

    def test_study_can_be_run_again_from_it(self):
        page = PageParser(self.page())
        self.assertEqual(page.pre[0], (self.folder / "out/study.toml").read_text())
        (self.folder / "study.toml").write_text(page.pre[0])
        self.cli("run", "study.toml", "-o", "again", "--dry-run")
        self.assertTrue(page.pre[1].startswith("driftscope-cli run study.toml -o again\n"))


class Overwriting(PageTest):
    def test_a_page_replaces_a_page(self):
        self.page()
        (self.folder / "out/runs/acc2_normnone.h5").unlink()
        self.assertIn("not run", self.page())
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith("report")], ["report.html"])

    def test_nothing_else_is_replaced(self):
        thesis = self.folder / "report.html"
        for content in (b"", b"my thesis", b'<!DOCTYPE html>\n<html><meta name="generator" content="Hugo">'):
            thesis.write_bytes(content)
            done = self.cli("report", "out", "-o", "report.html", code=2)
            self.assertIn("report.html: exists already", done.stderr)
            self.assertIn("--force", done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertEqual(thesis.read_bytes(), content)
        self.cli("report", "out", "-o", "report.html", "--force")
        self.assertTrue(thesis.read_text().startswith("<!DOCTYPE html>"))
        self.assertIn("Driftscope", thesis.read_text())

    def test_what_is_no_file(self):
        for force in ((), ("--force",)):
            self.assertIn("out: is no file", self.cli("report", "out", "-o", "out", *force, code=2).stderr)
            self.assertIn("/dev/null: is no file", self.cli("report", "out", "-o", "/dev/null", *force, code=2).stderr)

    def test_what_cannot_be_written(self):
        done = self.cli("report", "out", "-o", "missing/report.html", code=2)
        self.assertIn("missing/report.html: cannot be written", done.stderr)
        self.assertFalse((self.folder / "missing").exists())

    def test_options_that_contradict_each_other(self):
        self.cli("report", "out", "-o", "report.html", "--json", code=2)
        self.cli("report", "out", "--force", code=2)
        self.cli("report", "missing", "-o", "report.html", code=2)
        self.assertFalse((self.folder / "report.html").exists())


if __name__ == "__main__":
    harness.main()
