"""A server of the official Python SDK that speaks 2026-07-28 (and the revisions with sessions).

    python modern_server.py JOURNAL            streamable HTTP on a free port, which it prints
    python modern_server.py JOURNAL stdio

Every tool writes a line into JOURNAL when it runs, so that a test can see what reached the server.
"""

import json
import logging
import socket
import sys
from typing import Annotated

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

JOURNAL = sys.argv[1]
server = MCPServer("modern", version="1", log_level="ERROR")


def note(event, **more):
    with open(JOURNAL, "a", encoding="utf-8") as journal:
        journal.write(json.dumps({"event": event} | more) + "\n")


@server.tool()
def add(a: int, b: int) -> int:
    note("add", a=a, b=b)
    return a + b


@server.tool()
def wipe() -> str:
    note("wipe")
    return "all gone"


@server.tool()
def secret_door() -> str:
    note("secret_door")
    return "you should not be here"


@server.tool()
def pay(amount: int) -> str:
    note("pay", amount=amount)
    return f"paid {amount}"


@server.tool()
async def count(steps: int, context: Context) -> str:
    """Reports progress, step by step."""
    note("count")
    for step in range(1, steps + 1):
        await context.report_progress(step, steps, f"step {step}")
    return f"counted to {steps}"


@server.tool()
async def wait(context: Context) -> str:
    """Reports progress once, then waits until somebody gives up."""
    note("wait")
    await context.report_progress(1, 2, "waiting")
    try:
        await anyio.sleep(120)
    except anyio.get_cancelled_exc_class():
        note("wait cancelled")
        raise
    return "nobody gave up"


class Consent(BaseModel):
    confirm: bool


def ask_for_consent(what: str) -> Elicit[Consent]:
    return Elicit(f"Really {what}?", Consent)


@server.tool()
def ask(what: str, consent: Annotated[Consent, Resolve(ask_for_consent)]) -> str:
    note("ask", confirmed=consent.confirm)
    return f"{what}: {consent.confirm}"


@server.tool()
async def grow(context: Context) -> str:
    """Adds a tool, and tells those who listen."""
    note("grow")
    server.add_tool(late, name="late")
    await context.notify_tools_changed()
    return "grown"


def late() -> str:
    note("late")
    return "better late"


@server.tool()
async def touch(context: Context) -> str:
    note("touch")
    await context.notify_resource_updated("memo://open")
    return "touched"


@server.resource("memo://open")
def open_memo() -> str:
    note("read open")
    return "anybody may read this"


@server.resource("memo://closed")
def closed_memo() -> str:
    note("read closed")
    return "nobody may read this"


@server.prompt()
def greet(name: str) -> str:
    note("greet")
    return f"Say hello to {name}."


@server.prompt()
def curse(name: str) -> str:
    note("curse")
    return f"Curse {name}."


def serve_http():
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    app = server.streamable_http_app()
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


logging.disable(logging.CRITICAL)
if sys.argv[2:] == ["stdio"]:
    server.run("stdio")
else:
    serve_http()
