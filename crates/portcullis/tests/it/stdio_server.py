"""A small MCP server over standard streams, well-behaved or not: `stdio_server.py MODE [FILE]`."""

import json
import os
import signal
import subprocess
import sys
import time

mode = sys.argv[1]


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(request, result):
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def refuse(request):
    send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no"}})


def tools(request):
    cursor = request.get("params", {}).get("cursor")
    if mode == "endless":
        answer(request, {"tools": [], "nextCursor": "again"})
    elif mode == "long-line":
        answer(request, {"tools": [{"name": "x" * (40 << 20)}]})
    elif cursor is None:
        send({"jsonrpc": "2.0", "id": "q", "method": "ping"})
        send({"jsonrpc": "2.0", "id": 7, "method": "roots/list"})
        send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}})
        first = {"name": "list_doors", "description": "Lists the doors", "inputSchema": {"type": "object"}}
        answer(request, {"tools": [first, {"title": "no name"}], "nextCursor": "2"})
    else:
        answer(request, {"tools": [{"name": "delete_door", "description": "Deletes a door for good"}]})


if mode == "dies":
    sys.stderr.write("no \x1b[31mkey\x1b[0m was set\n")
    sys.exit(3)
if mode == "noisy":
    print("Welcome to the doors!", flush=True)
if mode == "stubborn":
    # Neither the end of its input nor a polite signal ends it, and it leaves a child behind.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "600"])
    with open(sys.argv[2], "w") as file:
        file.write(f"{os.getpid()} {child.pid}")

for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        info = {"name": "doors", "version": "1.2.3"}
        answer(message, {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info})
    elif method == "tools/list":
        tools(message)
    elif method == "server/discover" and mode in ("silent", "mute"):
        pass
    elif method and "id" in message:
        refuse(message)
    if mode == "mute":
        time.sleep(600)

while mode == "stubborn":
    time.sleep(1)
