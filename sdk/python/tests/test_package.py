"""The package itself: generated files, versions, types."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import baton
from baton import _async_calls, _calls
from baton._address import Address
from baton._record import Record, moment, moment_text

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent


def test_what_is_generated_is_up_to_date() -> None:
    subprocess.run([sys.executable, HERE / "generate.py", "--check"], check=True)


def test_drift_is_found(tmp_path: Path) -> None:
    package = tmp_path / "sdk" / "python" / "src" / "baton"
    package.mkdir(parents=True)
    (tmp_path / "spec").symlink_to(ROOT / "spec")
    script = tmp_path / "sdk" / "python" / "generate.py"
    script.write_text((HERE / "generate.py").read_text())
    check = [sys.executable, str(script), "--check"]
    assert subprocess.run(check, capture_output=True).returncode == 1
    subprocess.run([sys.executable, str(script)], check=True)
    subprocess.run(check, check=True)
    types = package / "types.py"
    types.write_text(types.read_text().replace("class Entry(", "class Other("))
    ended = subprocess.run(check, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "types.py" in ended.stderr


def test_versions_are_those_of_the_program() -> None:
    project = (HERE / "pyproject.toml").read_text()
    cargo = (ROOT / "Cargo.toml").read_text()
    named = re.search(r'^version = "(.*)"', project, re.MULTILINE)
    workspace = re.search(r'^version = "(.*)"', cargo, re.MULTILINE)
    assert named is not None
    assert workspace is not None
    assert named.group(1) == workspace.group(1) == baton.__version__


def test_every_operation_has_a_method_in_both_clients() -> None:
    operations = json.loads((ROOT / "spec" / "operations.json").read_text())["operations"]
    for calls in (_calls, _async_calls):
        source = inspect.getsource(calls)
        for operation in operations:
            assert f'OPERATIONS["{operation["name"]}"]' in source, operation["name"]


def test_both_clients_have_the_same_names() -> None:
    def names(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert names(baton.Baton) == names(baton.AsyncBaton)
    for name in names(_calls.StateCalls):
        blocking = inspect.signature(getattr(_calls.StateCalls, name))
        awaited = inspect.signature(getattr(_async_calls.StateCalls, name))
        assert blocking.parameters.keys() == awaited.parameters.keys()


def test_everything_public_is_documented() -> None:
    for name in baton.__all__:
        found = getattr(baton, name)
        assert inspect.getdoc(found) or not (inspect.isclass(found) or inspect.isfunction(found))


def test_records_are_compared_and_shown() -> None:
    class Point(Record):
        _required = frozenset({"x"})

    assert Point({"x": 1}) == Point({"x": 1})
    assert Point({"x": 1}) != Point({"x": 2})
    assert repr(Point({"x": 1})) == "Point(x=1)"
    with pytest.raises(baton.ProtocolError):
        Point([])  # type: ignore[arg-type]


def test_times_are_read_and_written() -> None:
    text = "2026-11-15T00:00:00.123Z"
    assert moment_text(moment(text)) == text


@pytest.mark.parametrize(
    ("url", "authority", "is_secure"),
    [
        ("http://127.0.0.1:4747", "127.0.0.1:4747", False),
        ("ws://localhost:80/", "localhost:80", False),
        ("http://baton", "baton:4747", False),
        ("http://[::1]", "[::1]:4747", False),
        ("https://baton.example", "baton.example:4747", True),
        ("wss://[::1]:9/", "[::1]:9", True),
    ],
)
def test_hosts_and_ports_are_understood(url: str, authority: str, is_secure: bool) -> None:
    address = Address.parse(url)
    assert (address.authority, address.is_secure) == (authority, is_secure)
