#!/usr/bin/env python3
"""Compares the man page of the tool with what the tool says of itself.

usage: man.py TRIL TRIL.1 [UNITTEST ARGUMENTS]
"""

import re
import shutil
import subprocess
import sys
import unittest

TRIL = PAGE = None

A_MACRO = re.compile(r"[A-Z][a-z]")


def help_text(*command):
    return subprocess.run([TRIL, *command, "--help"], capture_output=True, text=True, check=True).stdout


def flags_in_help(text):
    """Each flag, and whether it takes a value."""
    flags = {}
    for line in text.splitlines():
        if short := re.match(r" +(-\w)\b", line):
            flags[short[1]] = False
        if long := re.match(r" +(?:-\w, *)?(--[\w-]+)( [A-Z][\w/,.]*)?(?: {2,}|$)", line):
            flags[long[1]] = long[2] is not None
    return flags


def flags_in_page(text):
    """The same, of the items that document them."""
    flags = {}
    for item in re.findall(r"^\.It (Fl .*|Xo\n(?:.*\n)*?\.Xc)$", text, flags=re.MULTILINE):
        recent, macro = [], None
        for word in re.sub(r"^\.", "", item, flags=re.MULTILINE).split():
            if A_MACRO.fullmatch(word):
                macro = word
                if word == "Ar":
                    flags.update({flag: True for flag in recent})
            elif macro == "Fl" and word != ",":
                recent = ["-" + word.replace("\\-", "-")]
                flags[recent[0]] = False
    return flags


def sections(text):
    """The text below each heading: ".Ss tril compare" as "compare", ".Sh EXAMPLES" as "EXAMPLES"."""
    parts = re.split(r"^\.S[sh] (?:tril )?(.*)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


class Page(unittest.TestCase):
    def setUp(self):
        with open(PAGE, encoding="utf-8") as page:
            self.sections = sections(page.read())
        listed = help_text().partition("Subcommands:")[2]
        self.commands = re.findall(r"^ +([a-z]+) ", listed, flags=re.MULTILINE)

    def test_every_command_has_a_section(self):
        self.assertGreaterEqual(len(self.commands), 2)
        self.assertEqual([name for name in self.sections if name.islower()], self.commands)
        self.assertEqual(re.findall(r"^\.Cm (\w+)$", self.sections["SYNOPSIS"], flags=re.MULTILINE), self.commands)

    def test_every_flag_of_the_help_stands_in_the_page_and_no_other(self):
        for command in self.commands:
            with self.subTest(command=command):
                known = flags_in_help(help_text(command))
                self.assertIn("--help", known)
                self.assertEqual(flags_in_page(self.sections[command]), known)

    def test_the_synopsis_has_the_flags_of_the_tool_itself(self):
        flags = set(re.findall(r"Fl \\-([\w-]+)", self.sections["SYNOPSIS"]))
        self.assertEqual({"--" + flag for flag in flags}, set(flags_in_help(help_text())) - {"-h"})

    def test_examples_use_flags_that_there_are(self):
        examples = re.findall(r"^\.Dl \$ tril (\w+)(.*)$", self.sections["EXAMPLES"], flags=re.MULTILINE)
        self.assertEqual({command for command, _ in examples}, set(self.commands))
        for command, arguments in examples:
            with self.subTest(command=command, arguments=arguments):
                known = flags_in_help(help_text(command))
                for flag in re.findall(r"--?[a-z][\w-]*(?=\s|$)", arguments):
                    self.assertIn(flag, known)

    def test_formatters_have_nothing_to_say(self):
        if shutil.which("mandoc"):
            command = ["mandoc", "-T", "lint", "-W", "warning", PAGE]
        elif shutil.which("man"):
            command = ["man", "--warnings", "-l", PAGE]
        else:
            self.skipTest("neither mandoc nor man is installed")
        done = subprocess.run(command, capture_output=True, text=True)
        said = done.stdout + done.stderr if command[0] == "mandoc" else done.stderr
        self.assertEqual((said, done.returncode), ("", 0))


if __name__ == "__main__":
    TRIL, PAGE = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
