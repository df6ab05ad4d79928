"""An MCP server on standard input and output that behaves, or misbehaves, as its arguments say.

First argument: the era (legacy, modern, dual). Further ones:
  exit            ends at once
  mute            starts, and never says anything
  stubborn        does not end at end of input, nor on SIGTERM
  fork            leaves a child behind that holds all pipes
  noise           prints text between its messages
  pid=FILE        appends its process id, and that of its child, to FILE
  notes=FILE      appends each message that it reads to FILE
"""

import json
import os
import signal
import sys
import threading
import time

era, options = sys.argv[1], sys.argv[2:]
named = dict(option.split("=", 1) for option in options if "=" in option)
lock = threading.Lock()
answers = {}
count = 0


def raw(text):
    with lock:
        sys.stdout.write(text)
        sys.stdout.flush()


def send(message):
    if "noise" in options:
        raw("this is no message\n")
    raw(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def note_pid(pid):
    if "pid" in named:
        with open(named["pid"], "a") as file:
            file.write(f"{pid}\n")


def linger():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(60)


TOOLS = ["echo", "count", "slow", "progress", "die", "half", "garbage", "huge", "twice", "wrong", "mute", "ask",
         "loud", "env", "where", "changed", "meta"]


def tool(name):
    return {"name": name, "inputSchema": {"type": "object"}}


def text(value):
    return {"content": [{"type": "text", "text": value}], "resultType": "complete"}


def call(id, params):
    global count
    name, arguments = params["name"], params.get("arguments", {})
    token = params.get("_meta", {}).get("progressToken")
    answer = lambda value: send({"id": id, "result": text(value)})
    if name == "echo":
        answer(arguments.get("text", ""))
    elif name == "count":
        count += 1
        answer(f"{os.getpid()} {count}")
    elif name == "slow":
        time.sleep(float(arguments["seconds"]))
        answer("done")
    elif name == "progress":
        for step in (1, 2):
            send({"method": "notifications/progress",
                  "params": {"progressToken": token, "progress": step, "message": arguments.get("text", "")}})
        answer("done")
    elif name == "die":
        os._exit(3)
    elif name == "half":
        raw('{"jsonrpc":"2.0","id":%d,"resu' % id)
        os._exit(0)
    elif name == "garbage":
        raw('{"jsonrpc":"2.0","id":%d,"result":{"a":1,"a":2}}\n' % id)
    elif name == "huge":
        size = int(arguments["bytes"])
        with lock:
            sys.stdout.write('{"jsonrpc":"2.0","id":%d,"result":{"x":"' % id)
            for _ in range(size >> 20):
                sys.stdout.write("x" * (1 << 20))
            sys.stdout.write('"}}\n')
            sys.stdout.flush()
    elif name == "twice":
        answer("first")
        answer("second")
    elif name == "wrong":
        send({"id": 999999, "result": text("for somebody else")})
        send({"id": "x", "result": text("for somebody else")})
        answer("right")
    elif name == "ask":
        asked = arguments.get("method", "sampling/createMessage")
        send({"id": f"q{id}", "method": asked, "params": {"messages": [], "maxTokens": 1}})
        answers[f"q{id}"] = lambda reply: answer(json.dumps(reply.get("result") or reply.get("error")))
    elif name == "loud":
        sys.stderr.write(("x" * 70 + "\n") * 200000)
        sys.stderr.write(arguments.get("text", "") + "\n")
        sys.stderr.flush()
        answer("done")
    elif name == "env":
        answer(json.dumps(dict(os.environ), sort_keys=True))
    elif name == "where":
        answer(os.getcwd())
    elif name == "changed":
        send({"method": "notifications/tools/list_changed"})
        answer("done")
    elif name == "meta":
        answer(json.dumps(params.get("_meta")))


def request(message):
    id, method, params = message["id"], message["method"], message.get("params", {})
    if method == "server/discover" and era != "legacy":
        versions = ["2026-07-28"] + (["2025-11-25"] if era == "dual" else [])
        send({"id": id, "result": {"resultType": "complete", "supportedVersions": versions,
                                   "capabilities": {"tools": {}}}})
    elif method == "initialize" and era != "modern":
        send({"id": id, "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                                   "serverInfo": {"name": "local", "version": "1"}}})
    elif method == "tools/list":
        send({"id": id, "result": {"tools": [tool(name) for name in TOOLS], "resultType": "complete"}})
    elif method == "tools/call":
        threading.Thread(target=call, args=(id, params), daemon=True).start()
    elif method == "subscriptions/listen":
        about = {"_meta": {"io.modelcontextprotocol/subscriptionId": id}}
        send({"method": "notifications/subscriptions/acknowledged",
              "params": {"notifications": {"toolsListChanged": True}, **about}})
        send({"method": "notifications/tools/list_changed", "params": about})
    else:
        send({"id": id, "error": {"code": -32601, "message": "no such method"}})


note_pid(os.getpid())
if "exit" in options:
    sys.exit(1)
if "stubborn" in options:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "fork" in options:
    child = os.fork()
    if child == 0:
        linger()
    note_pid(child)
for line in sys.stdin:
    if "notes" in named:
        with open(named["notes"], "a") as file:
            file.write(line)
    if "mute" in options:
        continue
    message = json.loads(line)
    if "method" in message and "id" in message:
        request(message)
    elif "id" in message and message["id"] in answers:
        answers.pop(message["id"])(message)
if "stubborn" in options:
    linger()
