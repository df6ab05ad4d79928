"""A server of the first Python SDK that speaks only HTTP with SSE, the transport of 2024-11-05.

It prints its address, and writes what it was made to do to the journal that it is given.
"""

import asyncio
import json
import socket
import sys

import uvicorn
from mcp.server.fastmcp import Context, FastMCP

journal = sys.argv[1]
server = FastMCP("older")


def note(event):
    with open(journal, "a", encoding="utf-8") as file:
        file.write(json.dumps({"event": event}) + "\n")


@server.tool()
def read_note(title: str) -> str:
    """Reads a note."""
    note(f"read {title}")
    return f"the note {title}"


@server.tool()
def delete_note(title: str) -> str:
    """Deletes a note."""
    note(f"delete {title}")
    return "deleted"


@server.tool()
async def count(steps: int, seconds: float, context: Context) -> str:
    """Counts slowly."""
    try:
        for step in range(steps):
            await context.report_progress(step + 1, steps)
            await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        note("cancelled")
        raise
    return f"counted to {steps}"


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
print(f"http://127.0.0.1:{listener.getsockname()[1]}/sse", flush=True)
config = uvicorn.Config(server.sse_app(), log_level="error")
asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))
