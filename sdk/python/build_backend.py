"""Builds the wheel: with the `baton` program, or without it.

    pip install ./sdk/python                                  SDK and program; needs cargo
    pip install ./sdk/python --config-settings program=PATH   SDK, and a program that is built
    pip install ./sdk/python --config-settings pure=true      SDK alone, for those who have a server

`BATON_PURE=1` in the environment means the last, for tools that cannot pass settings.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import os
import sysconfig
import tempfile
import zipfile
from collections.abc import Mapping
from typing import Any

Settings = Mapping[str, Any] | None

_TRUE = ("1", "true", "yes")


def _is_pure(settings: Settings) -> bool:
    chosen = (settings or {}).get("pure", os.environ.get("BATON_PURE", ""))
    return str(chosen).lower() in _TRUE


def _program(settings: Settings) -> str | None:
    """A program to put into the wheel as it is."""
    return (settings or {}).get("program")


def _is_compiled(settings: Settings) -> bool:
    return not _is_pure(settings) and _program(settings) is None


def _backend(settings: Settings) -> Any:
    return importlib.import_module("maturin" if _is_compiled(settings) else "hatchling.build")


def _rest(settings: Settings) -> dict[str, Any]:
    """The settings that are meant for the backend."""
    own = ("pure", "program")
    return {name: value for name, value in (settings or {}).items() if name not in own}


def _with_program(folder: str, name: str, program: str) -> str:
    """Makes of a wheel without a program one that has it, for this platform only."""
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    tagged = name.replace("-any.whl", f"-{platform}.whl")
    distribution = "-".join(name.split("-")[:2])
    script = f"{distribution}.data/scripts/{os.path.basename(program)}"
    records = [f"{distribution}.dist-info/RECORD,,"]
    with (
        zipfile.ZipFile(os.path.join(folder, name)) as pure,
        zipfile.ZipFile(os.path.join(folder, tagged), "w") as wheel,
    ):

        def add(member: str, data: bytes, mode: int) -> None:
            about = zipfile.ZipInfo(member)
            about.compress_type = zipfile.ZIP_DEFLATED
            about.external_attr = mode << 16
            wheel.writestr(about, data, compresslevel=1)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            records.append(f"{member},sha256={digest},{len(data)}")

        for member in pure.namelist():
            data = pure.read(member)
            if member.endswith(".dist-info/RECORD"):
                continue
            if member.endswith(".dist-info/WHEEL"):
                data = data.replace(b"Root-Is-Purelib: true", b"Root-Is-Purelib: false")
                data = data.replace(b"-any\n", f"-{platform}\n".encode())
            add(member, data, 0o100644)
        with open(program, "rb") as file:
            add(script, file.read(), 0o100755)
        wheel.writestr(f"{distribution}.dist-info/RECORD", "\n".join(reversed(records)) + "\n")
    os.remove(os.path.join(folder, name))
    return tagged


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return ["maturin>=1.7,<2"] if _is_compiled(config_settings) else ["hatchling>=1.21"]


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    return ["hatchling>=1.21"]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return ["hatchling>=1.21", "editables"]


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: Settings = None
) -> str:
    """Without this the program would be compiled to learn the name of the wheel."""
    rest = _rest(config_settings)
    if _is_compiled(config_settings):
        maturin = importlib.import_module("maturin")
        return maturin.prepare_metadata_for_build_wheel(metadata_directory, rest)
    # hatchling hides its own from pip, because building the wheel is as quick.
    with tempfile.TemporaryDirectory() as folder:
        name = _backend(config_settings).build_wheel(folder, rest)
        with zipfile.ZipFile(os.path.join(folder, name)) as wheel:
            members = [member for member in wheel.namelist() if ".dist-info/" in member]
            wheel.extractall(metadata_directory, members)
    return members[0].split("/")[0]


def build_wheel(
    wheel_directory: str,
    config_settings: Settings = None,
    metadata_directory: str | None = None,
) -> str:
    backend, rest = _backend(config_settings), _rest(config_settings)
    program = None if _is_pure(config_settings) else _program(config_settings)
    if program is None:
        return backend.build_wheel(wheel_directory, rest, metadata_directory)
    name = backend.build_wheel(wheel_directory, rest, None)
    return _with_program(wheel_directory, name, program)


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    hatchling = importlib.import_module("hatchling.build")
    return hatchling.build_sdist(sdist_directory, _rest(config_settings))


def build_editable(
    wheel_directory: str,
    config_settings: Settings = None,
    metadata_directory: str | None = None,
) -> str:
    """An editable install has no program: it is for those who work on the SDK."""
    hatchling = importlib.import_module("hatchling.build")
    return hatchling.build_editable(wheel_directory, _rest(config_settings), metadata_directory)
