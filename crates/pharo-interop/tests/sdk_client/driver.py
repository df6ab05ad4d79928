"""The official Python SDK client, driven by JSON lines.

A line on standard input that has a `mode` says how to connect; each further line is one request to
make, until `close`. Every line gets one line of JSON back. What is right and wrong is decided by
the caller.
"""

import json
import sys

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError


def server_of(connection):
    if "command" in connection:
        return StdioServerParameters(
            command=connection["command"], args=connection["args"], env=connection["env"]
        )
    http = httpx2.AsyncClient(headers=connection.get("headers", {}), timeout=60)
    return streamable_http_client(connection["url"], http_client=http)


async def call(client, request):
    beats = []

    async def beat(progress, total, message):
        beats.append({"progress": progress, "total": total, "message": message})

    outcome = {"cancelled": True}
    try:
        with anyio.move_on_after(request.get("cancel_after")):
            result = await client.call_tool(
                request["tool"],
                request["arguments"],
                progress_callback=beat if request.get("progress") else None,
            )
            outcome = result.model_dump(mode="json", by_alias=True)
    except MCPError as error:
        outcome = {"code": error.error.code, "message": error.error.message}
    except Exception as error:
        outcome = {"exception": f"{type(error).__name__}: {error}"}
    outcome["beats"] = beats
    return outcome


async def calls(client, requests):
    outcomes = [None] * len(requests)
    order = []

    async def one(position, request):
        outcomes[position] = await call(client, request)
        order.append(position)

    async with anyio.create_task_group() as group:
        for position, request in enumerate(requests):
            group.start_soon(one, position, request)
    return {"outcomes": outcomes, "order": order}


async def answer(client, request):
    if "tool" in request:
        return await call(client, request)
    if "calls" in request:
        return await calls(client, request["calls"])
    listed = await client.list_tools()
    return listed.model_dump(mode="json", by_alias=True)


def say(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


async def read():
    line = await anyio.to_thread.run_sync(sys.stdin.readline)
    return json.loads(line) if line else None


async def converse(connection):
    async with Client(server_of(connection), mode=connection["mode"]) as client:
        info = client.server_info
        say(
            {
                "protocol_version": client.protocol_version,
                "name": info and info.name,
                "version": info and info.version,
                "instructions": client.instructions,
            }
        )
        while (request := await read()) is not None and "close" not in request:
            say(await answer(client, request))


async def main():
    while (connection := await read()) is not None:
        await converse(connection)
        say({"closed": True})


anyio.run(main)
