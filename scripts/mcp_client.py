"""Hands a task over through the official Python client: over stdio, over HTTP, and between them."""

import asyncio
import os
import subprocess
import sys
import tempfile

from mcp import Client, StdioServerParameters


async def call(client: Client, tool: str, **arguments: object) -> dict:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    assert result.structured_content is not None, result
    return result.structured_content


async def hand_over(ada: Client, bob: Client) -> None:
    """At most eight calls from a task to its completion by another agent."""
    task = {"type": "build", "description": "make it"}
    created = await call(ada, "baton_create_task", tasks=[task])
    name = created["created"][0]["id"]
    claimed = await call(ada, "baton_claim", task=name, agent="ada")
    token = claimed["task"]["token"]
    assert "data" in claimed["context"], claimed
    await call(ada, "baton_report", task=name, token=token, status="progress", fraction=0.5, agent="ada")
    offered = await call(ada, "baton_handoff", action="offer", to="bob", task=name, token=token, agent="ada")
    brief = await call(bob, "baton_brief", agent="bob")
    handoff = brief["handoffs_for_you"][0]["id"]
    assert handoff == offered["handoff"]["id"], brief
    accepted = await call(bob, "baton_handoff", action="accept", handoff=handoff, agent="bob")
    token = accepted["task"]["token"]
    done = await call(bob, "baton_report", task=name, token=token, status="done", result=1, agent="bob")
    assert done["task"]["status"] == "completed", done


async def use(program: str, url: str, folder: str) -> None:
    stdio = StdioServerParameters(command=program, args=["mcp", "--data", f"{folder}/own"], cwd=folder)
    async with Client(stdio) as client:
        tools = await client.list_tools()
        assert len(tools.tools) == 11, tools
        resources = await client.list_resources()
        assert len(resources.resources) == 5, resources
        prompts = await client.list_prompts()
        assert len(prompts.prompts) == 3, prompts
        await hand_over(client, client)
    served = StdioServerParameters(command=program, args=["mcp", "--url", url, "--agent", "ada"])
    async with Client(served) as ada, Client(f"{url}/mcp") as bob:
        await hand_over(ada, bob)
        await hand_over(bob, ada)
        refused = await ada.call_tool("baton_get", {"ref": "t-404"})
        assert refused.is_error, refused


def main() -> None:
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        serve = [program, "serve", "--data", f"{folder}/data", "--listen", "127.0.0.1:0"]
        server = subprocess.Popen(serve, stderr=subprocess.PIPE, text=True)
        try:
            url = ""
            for line in server.stderr:
                if line.startswith("  address  "):
                    url = line.split()[1]
                if "Press ctrl-c" in line:
                    break
            asyncio.run(use(program, url, folder))
        finally:
            server.terminate()
            server.wait()
    print("the Python client handed three tasks over")


if __name__ == "__main__":
    main()
