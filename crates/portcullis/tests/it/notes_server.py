"""A small MCP server on standard input and output, for the tests of `wrap`."""

import json
import os
import sys
import threading
import time

TOOLS = [
    {"name": "read_note", "description": "Read a note.", "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}}},
    {"name": "add_note", "description": "Create a note.",
     "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}}},
    {"name": "delete_all_notes", "description": "Delete all notes for ever.",
     "annotations": {"destructiveHint": True}, "inputSchema": {"type": "object"}},
    {"name": "get_environment", "description": "Show the environment.", "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object"}},
    {"name": "get_slow_note", "description": "Read a note slowly.", "annotations": {"readOnlyHint": True},
     "inputSchema": {"type": "object"}},
]
if os.environ.get("MORE"):
    TOOLS.append({"name": "get_more", "description": "Read more.", "annotations": {"readOnlyHint": True},
                  "inputSchema": {"type": "object"}})

writing = threading.Lock()


def tools():
    if os.path.exists("description"):
        with open("description", encoding="utf-8") as file:
            TOOLS[0]["description"] = file.read()
    return TOOLS


def send(message):
    with writing:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def call(params):
    name = params["name"]
    if name == "get_slow_note":
        time.sleep(60)
    if name == "get_environment":
        return json.dumps({"pid": os.getpid(), "cwd": os.getcwd(), "env": dict(os.environ)})
    return name + " done"


def answer(request):
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "notes", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": tools()}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": call(params)}]}
    else:
        error = {"code": -32601, "message": "unknown method"}
        return send({"jsonrpc": "2.0", "id": request["id"], "error": error})
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        threading.Thread(target=answer, args=(message,), daemon=True).start()
