"""Builds the wheel: with the `baton` program, or without it.

    pip install ./sdk/python                                  SDK and program; needs cargo
    pip install ./sdk/python --config-settings pure=true      SDK alone, for those who have a server

`BATON_PURE=1` in the environment means the same, for tools that cannot pass settings.
"""

from __future__ import annotations

import importlib
import os
import tempfile
import zipfile
from collections.abc import Mapping
from typing import Any

Settings = Mapping[str, Any] | None

_TRUE = ("1", "true", "yes")


def _is_pure(settings: Settings) -> bool:
    chosen = (settings or {}).get("pure", os.environ.get("BATON_PURE", ""))
    return str(chosen).lower() in _TRUE


def _backend(settings: Settings) -> Any:
    return importlib.import_module("hatchling.build" if _is_pure(settings) else "maturin")


def _rest(settings: Settings) -> dict[str, Any]:
    """The settings that are meant for the backend."""
    return {name: value for name, value in (settings or {}).items() if name != "pure"}


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return ["hatchling>=1.21"] if _is_pure(config_settings) else ["maturin>=1.7,<2"]


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    return ["hatchling>=1.21"]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return ["hatchling>=1.21", "editables"]


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: Settings = None
) -> str:
    """Without this the program would be compiled to learn the name of the wheel."""
    rest = _rest(config_settings)
    if not _is_pure(config_settings):
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
    backend = _backend(config_settings)
    return backend.build_wheel(wheel_directory, _rest(config_settings), metadata_directory)


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
