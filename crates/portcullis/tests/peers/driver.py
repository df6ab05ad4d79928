"""The official Python SDK client, driven by JSON lines.

The first line says how to connect; each further line is one thing to do, and gets one line of JSON
back. What is right and wrong is decided by the caller. It understands the same lines as driver.mjs.
"""

import contextlib
import json
import sys

import anyio
import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

PATIENCE_S = 60
MODES = {"legacy": "legacy", "modern": "auto"}


class Heard:
    """What servers said without being asked."""

    def __init__(self):
        self.messages = []
        self.changed = anyio.Event()

    def note(self, method, params):
        self.messages.append((method, params))
        self.changed.set()
        self.changed = anyio.Event()

    async def wait(self, method):
        while True:
            for at, (name, params) in enumerate(self.messages):
                if name == method:
                    del self.messages[at]
                    return params
            await self.changed.wait()


def dump(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


class Driver:
    def __init__(self, stack):
        self.stack = stack
        self.heard = Heard()
        self.client = None
        self.listening = None

    async def connect(self, wanted):
        await self.stack.enter_async_context(self.make_client(wanted))
        info = self.client.server_info
        return {"version": self.client.protocol_version, "server": info and info.name}

    def make_client(self, wanted):
        async def sample(context, params):
            self.heard.note("sampling/createMessage", dump(params))
            content = types.TextContent(type="text", text="said by the client")
            return types.CreateMessageResult(model="driver", role="assistant", content=content)

        async def elicit(context, params):
            self.heard.note("elicitation/create", dump(params))
            return types.ElicitResult(action="accept", content=wanted.get("elicit"))

        async def roots(context):
            self.heard.note("roots/list", None)
            return types.ListRootsResult(roots=[types.Root(uri="file:///driver", name="driver")])

        async def message(message):
            if hasattr(message, "method"):
                params = getattr(message, "params", None)
                self.heard.note(message.method, params and dump(params))

        self.client = Client(
            self.server(wanted),
            mode=MODES[wanted["era"]],
            sampling_callback=sample,
            elicitation_callback=elicit,
            list_roots_callback=roots,
            message_handler=message,
            cache=None,
        )
        return self.client

    def server(self, wanted):
        if "url" in wanted:
            http = httpx2.AsyncClient(headers=wanted.get("headers", {}), timeout=PATIENCE_S)
            return streamable_http_client(wanted["url"], http_client=http)
        command, *args = wanted["command"]
        return StdioServerParameters(
            command=command, args=args, env=wanted.get("env"), cwd=wanted.get("cwd")
        )

    async def call(self, wanted):
        beats = []
        scope = anyio.CancelScope()

        async def beat(progress, total, message):
            beats.append({"progress": progress, "total": total, "message": message})
            if wanted.get("cancel"):
                scope.cancel()

        outcome = {"cancelled": True}
        listens = wanted.get("progress") or wanted.get("cancel")
        with scope:
            outcome = await attempt(
                lambda: self.client.call_tool(
                    wanted["name"],
                    wanted["arguments"],
                    progress_callback=beat if listens else None,
                )
            )
        return outcome | {"beats": beats}

    async def listen(self, wanted):
        words = {
            "toolsListChanged": "tools_list_changed",
            "promptsListChanged": "prompts_list_changed",
            "resourcesListChanged": "resources_list_changed",
            "resourceSubscriptions": "resource_subscriptions",
        }
        chosen = {words[name]: value for name, value in wanted["filter"].items()}
        self.listening = contextlib.AsyncExitStack()
        subscription = await self.listening.enter_async_context(self.client.listen(**chosen))
        return subscription.honored

    async def unlisten(self, wanted):
        await self.listening.aclose()
        return "local"

    async def hear(self, wanted):
        with anyio.fail_after(PATIENCE_S):
            return await self.heard.wait(wanted["method"])

    async def do(self, wanted):
        client = self.client
        if wanted["do"] == "call":
            return await self.call(wanted)
        work = {
            "connect": lambda: self.connect(wanted),
            "tools": lambda: client.list_tools(),
            "resources": lambda: client.list_resources(),
            "templates": lambda: client.list_resource_templates(),
            "read": lambda: client.read_resource(wanted["uri"]),
            "prompts": lambda: client.list_prompts(),
            "prompt": lambda: client.get_prompt(wanted["name"], wanted.get("arguments")),
            "complete": lambda: client.complete(reference(wanted["ref"]), wanted["argument"]),
            "subscribe": lambda: client.subscribe_resource(wanted["uri"]),
            "listen": lambda: self.listen(wanted),
            "unlisten": lambda: self.unlisten(wanted),
            "hear": lambda: self.hear(wanted),
        }
        return await attempt(work[wanted["do"]])


def reference(ref):
    if ref["type"] == "ref/prompt":
        return types.PromptReference(type="ref/prompt", name=ref["name"])
    return types.ResourceTemplateReference(type="ref/resource", uri=ref["uri"])


async def attempt(work):
    try:
        result = await work()
        return {"result": dump(result) if hasattr(result, "model_dump") else result}
    except MCPError as error:
        error = error.error
        return {"error": {"code": error.code, "message": error.message, "data": error.data}}
    except Exception as error:
        return {"error": {"code": None, "message": f"{type(error).__name__}: {error}", "data": None}}


def say(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


async def main():
    async with contextlib.AsyncExitStack() as stack:
        driver = Driver(stack)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            wanted = json.loads(line)
            if wanted["do"] == "close":
                break
            say(await driver.do(wanted))
    say({"result": "closed"})


anyio.run(main)
