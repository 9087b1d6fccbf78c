"""The Python code of the documents, and the examples, are run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from chat_server import ChatServer

from conftest import Server

ROOT = Path(__file__).resolve().parent.parent.parent.parent
DOCUMENTS = [
    "README.md",
    "docs/context.md",
    "docs/guide.md",
    "docs/python.md",
    "docs/rules.md",
    "sdk/python/README.md",
]
EXAMPLES = sorted((ROOT / "examples" / "python").glob("*.py"))


def blocks(document: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text(), re.M | re.S)


def run(arguments: list[str], folder: Path, program: str, **more: str) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("BATON_")}
    environment.update({"BATON_BIN": program, **more})
    ended = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_code_of_a_document_runs(
    document: str, program: str, tmp_path: Path, shared_server: Server
) -> None:
    found = blocks(document)
    assert found, "there is code"
    script = tmp_path / "document.py"
    text = "\n".join(found).replace("http://127.0.0.1:4747", shared_server.url)
    script.write_text(text)
    with ChatServer() as model:
        run([str(script)], tmp_path, program, OPENAI_BASE_URL=model.url)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("is_embedded", [True, False])
def test_an_example_runs(
    example: Path, is_embedded: bool, program: str, tmp_path: Path, shared_server: Server
) -> None:
    arguments = [str(example)] if is_embedded else [str(example), shared_server.url]
    run(arguments, tmp_path, program)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 2
