"""Wheels, with the program and without it, in virtual environments that have nothing else.

`BATON_WHEELS` names a folder with what the package and its build need, which `scripts/python`
downloads once. Without it nothing is tested here.
"""

from __future__ import annotations

import os
import subprocess
import venv
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent
WHEELS = os.environ.get("BATON_WHEELS")

pytestmark = pytest.mark.skipif(WHEELS is None, reason="`scripts/python` names the wheels")

FIRST_STATE = """
import sys, baton
with baton.open(sys.argv[1]) as one, baton.open(sys.argv[1]) as other:
    one.state.set("plan", {"step": 1})
    print(other.state.value("plan")["step"])
"""


def environment(folder: Path) -> Path:
    """The programs of an empty virtual environment."""
    venv.create(folder, with_pip=True)
    return folder / "bin"


def install(programs: Path, *options: str) -> None:
    assert WHEELS is not None
    index = ("--no-index", "--find-links", WHEELS)
    subprocess.run(
        [programs / "python", "-m", "pip", "install", "--quiet", *index, PACKAGE, *options],
        check=True,
        env=clean(),
    )


def clean(**named: str) -> dict[str, str]:
    """The environment without what names the program, or this package."""
    hidden = ("BATON_BIN", "BATON_PURE", "PYTHONPATH")
    return {**{name: it for name, it in os.environ.items() if name not in hidden}, **named}


def run(programs: Path, folder: Path, **named: str) -> subprocess.CompletedProcess[str]:
    # The program is found beside the interpreter, not on the path.
    variables = clean(PATH="/usr/bin:/bin", **named)
    command = [programs / "python", "-c", FIRST_STATE, folder]
    return subprocess.run(command, capture_output=True, text=True, env=variables)


def test_an_empty_environment_has_shared_state(tmp_path: Path, program: str) -> None:
    programs = environment(tmp_path / "with")
    install(programs, "--config-settings", f"program={program}")
    ended = run(programs, tmp_path / "data")
    assert (ended.returncode, ended.stdout) == (0, "1\n"), ended.stderr
    version = [programs / "baton", "--version"]
    assert subprocess.run(version, capture_output=True, check=True).stdout.startswith(b"baton ")
    typed = [programs / "python", "-c", "import baton; print(baton.__file__)"]
    where = subprocess.run(typed, capture_output=True, text=True, check=True, env=clean()).stdout
    assert (Path(where.strip()).parent / "py.typed").exists()


def test_without_the_program_the_error_says_what_to_do(tmp_path: Path, program: str) -> None:
    programs = environment(tmp_path / "pure")
    install(programs, "--config-settings", "pure=true")
    assert not (programs / "baton").exists()
    ended = run(programs, tmp_path / "data")
    assert ended.returncode == 1
    assert "BATON_BIN" in ended.stderr
    ended = run(programs, tmp_path / "data", BATON_BIN=program)
    assert (ended.returncode, ended.stdout) == (0, "1\n"), ended.stderr
