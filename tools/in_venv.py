"""Goes on in a virtual environment with the packages that a tool needs."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path


def stop(message, status):
    print(f"tools/{Path(sys.argv[0]).name}: {message}", file=sys.stderr)
    sys.exit(status)


def enter(directory, packages, *pip_options):
    """Returns in the environment of that directory; makes it if necessary, and starts the program anew in it."""
    if directory.is_dir() and directory.samefile(sys.prefix):
        return
    python = directory / "bin" / "python3"
    # Written when all went well, so that a broken environment is not used.
    stamp = directory / "packages.txt"
    if not stamp.is_file() or stamp.read_text() != "\n".join(packages):
        # Debian's Python comes without this half of the venv module.
        if not find_spec("venv") or not find_spec("ensurepip"):
            stop("needs Python's venv module; on Debian: apt-get install python3-venv", 2)
        print(f"making a virtual environment in {directory} (once)", flush=True)
        try:
            subprocess.run([sys.executable, "-m", "venv", "--clear", directory], check=True)
            subprocess.run([python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *pip_options,
                            *packages], check=True)
        except subprocess.CalledProcessError as error:
            stop(f"cannot make it: {error}", 1)
        stamp.write_text("\n".join(packages))
    os.execv(python, [python, *sys.argv])
