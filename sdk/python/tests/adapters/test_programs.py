"""The examples for frameworks, and the Python code of their document, are run."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from test_documents import ROOT, run

from conftest import Server

EXAMPLES = sorted((ROOT / "examples" / "python" / "frameworks").glob("*.py"))
DOCUMENT = ROOT / "docs" / "python-frameworks.md"
IMPORTS = {
    "LangGraph": "langgraph",
    "OpenAI Agents SDK": "agents",
    "Google ADK": "google.adk",
    "Swarm": "baton",
    "Microsoft Agent Framework": "agent_framework",
    "CrewAI": "crewai",
    "A2A": "a2a",
}


def check_installed(module: str) -> None:
    """CrewAI and A2A are installed in environments of their own."""
    try:
        is_there = importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there:
        pytest.skip(f"{module} is not installed here")


def module_of(example: Path) -> str:
    found = re.search(r"^from baton\.(\w+) import", example.read_text(), re.MULTILINE)
    assert found is not None
    adapter = found.group(1)
    return {"openai_agents": "agents", "adk": "google.adk"}.get(adapter, adapter)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("is_embedded", [True, False])
def test_an_example_runs(
    example: Path, is_embedded: bool, program: str, tmp_path: Path, shared_server: Server
) -> None:
    check_installed(module_of(example))
    arguments = [str(example)] if is_embedded else [str(example), shared_server.url]
    run(["-W", "ignore", *arguments], tmp_path, program)


@pytest.mark.parametrize("framework", IMPORTS)
def test_the_code_of_the_document_runs(
    framework: str, program: str, tmp_path: Path, shared_server: Server
) -> None:
    check_installed(IMPORTS[framework])
    sections = re.split(r"^## ", DOCUMENT.read_text(), flags=re.M)
    section = next(it for it in sections if it.startswith(f"{framework}\n"))
    found = re.findall(r"^```python\n(.*?)^```", section, re.M | re.S)
    assert found, "there is code"
    script = tmp_path / "document.py"
    script.write_text("\n".join(found).replace("http://127.0.0.1:4747", shared_server.url))
    run(["-W", "ignore", str(script)], tmp_path, program)
