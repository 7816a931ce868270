#!/usr/bin/env python3
"""Installs the build into a directory of its own and lets programs use what is there, as any other project would.

usage: installed.py CELL [KIND] BUILD SOURCE THREADS -- C_COMPILER [ARGUMENT ...] -- C++_COMPILER [ARGUMENT ...]

Cells are prefix, subproject, and c, c++, rust (by pkg-config) and cmake, each with a kind of library, shared or
static. Only subproject builds the library again. Exit status 77: the cell is skipped.
"""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

APP = pathlib.Path(__file__).resolve().parent / "app"
HOUSE = APP.parents[1] / "house"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]

# As README.md shows them.
PKG_CONFIG = {
    "shared": "pkg-config --cflags --libs tril",
    "static": "pkg-config --static --cflags --libs tril | sed s/-ltril/-l:libtril.a/",
}

FILE = {"shared": "libtril.so", "static": "libtril.a"}
# All that a subproject needs.
SUBPROJECT = ["meson.build", "meson_options.txt", "LICENSE", "include", "install", "src"]
# Through these a program could see more than the prefix.
SEES_MORE = re.compile(r"\w*INCLUDE_PATH|CPATH|LIBRARY_PATH|LD_\w+|PKG_CONFIG_\w+|CMAKE_\w+|\w+FLAGS|DESTDIR")


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def require(condition, complaint):
    if not condition:
        raise Failed(complaint)


def program(name):
    if shutil.which(name) is None:
        raise Skipped(f"{name} is not installed")
    return name


class Here:
    """Runs commands in a directory, in an environment that leads nowhere else."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.environment = {name: value for name, value in os.environ.items() if not SEES_MORE.fullmatch(name)}

    def run(self, *command, **environment):
        done = subprocess.run(
            [str(word) for word in command],
            cwd=self.directory,
            env={**self.environment, "LC_ALL": "C", **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        require(done.returncode == 0, f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def dynamic(self, kind, file):
        """What the dynamic section of a file has of a kind: NEEDED, SONAME, RUNPATH."""
        return re.findall(rf"\({kind}\).*\[(.*)\]", self.run("readelf", "--wide", "--dynamic", file))


class Prefix:
    """What `meson install` leaves, moved to where it was not configured for."""

    def __init__(self, here, build):
        staged = here.directory / "staged"
        here.run(program("meson"), "install", "-C", build, "--no-rebuild", "--destdir", staged)
        entries = json.loads(here.run("meson", "introspect", "--buildoptions", build))
        option = {entry["name"]: entry["value"] for entry in entries}
        self.configured = option["prefix"]
        self.path = here.directory / "prefix"
        (staged / pathlib.Path(self.configured).relative_to("/")).rename(self.path)
        self.tool = self.path / option["bindir"] / "tril"
        self.lib = self.path / option["libdir"]
        self.headers = self.path / option["includedir"] / "tril"
        self.license = self.path / option["datadir"] / "doc" / "tril" / "LICENSE"
        self.man_page = self.path / option["mandir"] / "man1" / "tril.1"
        self.package = self.lib / "cmake" / "tril"
        self.pc = self.lib / "pkgconfig" / "tril.pc"

        # The prefix is one line of it; all else follows.
        text = self.pc.read_text(encoding="utf-8")
        require(text.count(self.configured) == 1, f"tril.pc names {self.configured} more than once:\n{text}")
        self.pc.write_text(text.replace(self.configured, str(self.path)), encoding="utf-8")
        here.environment["PKG_CONFIG_PATH"] = str(self.pc.parent)

    def require_library(self, kind):
        if not (self.lib / FILE[kind]).exists():
            raise Skipped(f"built without the {kind} library")

    def version(self):
        return re.search(r"^Version: (.*)", self.pc.read_text(encoding="utf-8"), flags=re.MULTILINE)[1]

    def needs_tbb(self):
        text = self.pc.read_text(encoding="utf-8")
        return re.search(r"^(Requires|Libs)\S*:.*\bl?tbb\b", text, flags=re.MULTILINE) is not None


@dataclasses.dataclass
class Project:
    """What is under test, and with which compilers."""

    build: pathlib.Path
    source: pathlib.Path
    threads: str
    c: list
    cxx: list

    @classmethod
    def of_arguments(cls, build, source, threads, *compilers):
        split = compilers.index("--", 1)
        return cls(pathlib.Path(build), pathlib.Path(source), threads, compilers[1:split], compilers[split + 1 :])

    def environment(self):
        return {"CC": " ".join(self.c), "CXX": " ".join(self.cxx)}


def check_prefix(here, project, prefix):
    """Everything is there, and knows nothing of where it was made."""
    public = {path.name for path in (project.source / "include" / "tril").iterdir()}
    there = {path.name for path in prefix.headers.iterdir()}
    require(public == there, f"headers: {sorted(public ^ there)} are not in both places")
    require(prefix.license.exists(), "LICENSE is not there")
    require(prefix.needs_tbb() == (project.threads == "tbb"), f"tril.pc: tbb, with threads={project.threads}")
    package = [prefix.package / name for name in ("tril-config.cmake", "tril-config-version.cmake")]
    require(all(file.exists() for file in package), "the CMake package is not there")
    for file in [prefix.pc, *package, *prefix.headers.iterdir()]:
        for path in (project.source, project.build, prefix.configured):
            require(str(path) not in file.read_text(encoding="utf-8"), f"{file.name} names {path}")

    programs = [prefix.tool] if prefix.tool.exists() else []
    if (prefix.lib / "libtril.so").exists():
        library, soname = f"libtril.so.{prefix.version()}", f"libtril.so.{prefix.version().split('.')[0]}"
        for link in ("libtril.so", soname):
            require((prefix.lib / link).resolve().name == library, f"{link} does not lead to {library}")
        require(here.dynamic("SONAME", prefix.lib / library) == [soname], f"the soname is not {soname}")
        programs.append(prefix.lib / library)
    for file in programs:
        require(not here.dynamic("R(?:UN)?PATH", file), f"{file.name} looks for libraries in fixed places")
        needs_tbb = any("libtbb" in name for name in here.dynamic("NEEDED", file))
        require(needs_tbb == (project.threads == "tbb"), f"{file.name}: libtbb, with threads={project.threads}")
    if prefix.tool.exists():
        require(prefix.man_page.exists(), "the tool has no man page")
        require(prefix.version() in here.run(prefix.tool, "--version"), "the tool is of another version")


def check_app(here, project, prefix, app, kind):
    """It computes what is right, and has the library within or not."""
    print(here.run(app, LD_LIBRARY_PATH=str(prefix.lib)).strip())
    needed = here.dynamic("NEEDED", app)
    shared = any(name.startswith("libtril.so.") for name in needed)
    require(shared == (kind == "shared"), f"{kind}: needs {needed}")
    if kind == "static":
        needs_tbb = any("libtbb" in name for name in needed)
        require(needs_tbb == (project.threads == "tbb"), f"threads={project.threads}: needs {needed}")


def require_headers_of(prefix, project, read):
    require(str(prefix.headers) in read, f"headers are not the installed ones:\n{read}")
    require(str(project.source) not in read, f"headers are those of the source tree:\n{read}")


def check_compiled(here, project, prefix, kind, command, source):
    flags = here.run("sh", "-c", PKG_CONFIG[kind]).split()
    shutil.copy(APP / source, here.directory)
    here.run(*command, *WARNINGS, "-MD", "-MF", "read", source, "-o", "app", *flags, "-lm")
    require_headers_of(prefix, project, (here.directory / "read").read_text(encoding="utf-8"))
    check_app(here, project, prefix, here.directory / "app", kind)


def check_c(here, project, prefix, kind):
    check_compiled(here, project, prefix, kind, [*project.c, "-std=c99"], "app.c")


def check_cxx(here, project, prefix, kind):
    check_compiled(here, project, prefix, kind, [*project.cxx, "-std=c++20"], "app.cpp")


def check_rust(here, project, prefix, kind):
    rustc = program("rustc")
    libraries = here.run("sh", "-c", PKG_CONFIG[kind].replace("--cflags ", "")).strip()
    shutil.copy(APP / "app.rs", here.directory)
    here.run(rustc, "--edition=2021", "-Dwarnings", "-O", "app.rs", "-C", f"link-args={libraries}")
    app = here.directory / "app"
    check_app(here, project, prefix, app, kind)

    # Does it see the structs as a program of C does?
    here.run(sys.executable, HOUSE / "members.py", prefix.headers / "tril.h", "members.inc")
    shutil.copy(APP / "layouts.c", here.directory)
    cflags = here.run("pkg-config", "--cflags", "tril").split()
    here.run(*project.c, "-std=c99", *WARNINGS, "-I.", "layouts.c", "-o", "layouts", *cflags)
    in_c = here.run("./layouts").splitlines()
    in_rust = here.run(app, "layouts", LD_LIBRARY_PATH=str(prefix.lib)).splitlines()
    known = {line.split()[0] for line in in_rust if "." not in line}
    require(known, "no structs are declared in Rust")
    in_c = [line for line in in_c if re.split(r"[ .]", line)[0] in known]
    require(sorted(in_c) == sorted(in_rust), f"C and Rust differ in {sorted(set(in_c) ^ set(in_rust))}")


def check_cmake(here, project, prefix, kind):
    shutil.copy(APP / "app.cpp", here.directory)
    lists = (APP / "CMakeLists.txt").read_text(encoding="utf-8")
    target = "tril::tril_static" if kind == "static" and (prefix.lib / FILE["shared"]).exists() else "tril::tril"
    lists = lists.replace("PRIVATE tril::tril)", f"PRIVATE {target})")
    (here.directory / "CMakeLists.txt").write_text(lists, encoding="utf-8")
    there = f"-DCMAKE_PREFIX_PATH={prefix.path}"
    here.run(program("cmake"), "-G", "Ninja", there, "-S", ".", "-B", "out", **project.environment())
    here.run("cmake", "--build", "out")
    require_headers_of(prefix, project, here.run("ninja", "-C", "out", "-t", "deps"))
    check_app(here, project, prefix, here.directory / "out" / "app", kind)


def check_subproject(here, project):
    """A build without threads of its own, of a copy in which nothing else is."""
    copy = here.directory / "subprojects" / "tril"
    copy.mkdir(parents=True)
    for name in SUBPROJECT:
        whole = project.source / name
        shutil.copytree(whole, copy / name) if whole.is_dir() else shutil.copy(whole, copy)
    for name in ("app.c", "app.cpp", "meson.build"):
        shutil.copy(APP / name, here.directory)
    here.run(program("meson"), "setup", "--buildtype=release", "out", **project.environment())
    here.run("meson", "compile", "-C", "out")

    # What it installs of the library needs nothing but the C++ runtime either.
    alone = dataclasses.replace(project, build=here.directory / "out", source=copy, threads="serial")
    prefix = Prefix(here, alone.build)
    check_prefix(here, alone, prefix)
    for app in ("app", "app_of_c"):
        check_app(here, alone, prefix, alone.build / app, "static")
    check_c(here, alone, prefix, "static")


CELLS = {"c": check_c, "c++": check_cxx, "rust": check_rust, "cmake": check_cmake}


def main(cell, *arguments):
    with tempfile.TemporaryDirectory() as root:
        here = Here(root)
        try:
            if cell == "subproject":
                check_subproject(here, Project.of_arguments(*arguments))
            elif cell == "prefix":
                project = Project.of_arguments(*arguments)
                prefix = Prefix(here, project.build)
                check_prefix(here, project, prefix)
                here.run(sys.executable, HOUSE / "headers.py", prefix.headers.parent, *project.c, "--", *project.cxx)
            else:
                kind, *rest = arguments
                project = Project.of_arguments(*rest)
                prefix = Prefix(here, project.build)
                prefix.require_library(kind)
                CELLS[cell](here, project, prefix, kind)
        except Skipped as reason:
            print(f"skipped: {reason}")
            return 77
        except Failed as complaint:
            print(f"failed: {complaint}")
            return 1
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
