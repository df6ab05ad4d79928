"""Asks the gateway what MCPSEC asks a verdict service, and scores the answers.

The suite posts calls to a service of ours, which sends each one through `portcullis wrap` to a server that is here
too: "Allow" means that the call arrived there, "Deny" that it did not. Nothing else is answered, but that a limit
refused. Two controls stand beside it, one that denies everything and one that allows everything. Prints the tables
for docs/attacks.md. Usage: score.py PORTCULLIS MCPSEC POLICY LEGITIMATE WORK_DIRECTORY
"""

import contextlib
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import threading

# The suite's author puts questions about the own product to a tool of this name; no agent would call it.
OWN_TOOL = "vellaveto"
# What a verdict service is told beside the call: a gateway meets none of it in the call that it judges.
BESIDE = ("_test_response", "_test_context", "_test_policies")
# Seconds for one run of the suite.
PATIENCE = 600


def request_of(question):
    """The method and the parameters of MCP that a question stands for."""
    parameters = question["parameters"]
    if parameters.get("method") == "resources/read":
        return "resources/read", {"uri": parameters["uri"]}
    return "tools/call", {"name": f"{question['tool']}.{question['function']}", "arguments": parameters}


def is_about_a_call(question):
    """Whether the question is one that a gateway can be asked: a call or a read, with nothing beside it."""
    own = question["tool"] == OWN_TOOL and request_of(question)[0] == "tools/call"
    return not own and not any(key in question for key in BESIDE)


class Service(http.server.BaseHTTPRequestHandler):
    """JSON in, JSON out; `answer` of the server that it runs in makes the one from the other."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = self.server.answer(json.loads(body))
        self.reply(202 if answer is None else 200, b"" if answer is None else json.dumps(answer).encode())

    def do_GET(self):
        self.reply(405, b"")

    do_DELETE = do_GET

    def reply(self, status, body):
        self.send_response(status)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def service(answer):
    """Serves `answer` on a free port of loopback, and says where."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    server.daemon_threads, server.answer = True, answer
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Server:
    """The server behind the gateway. It has every tool that is asked for, lookalikes included, so that whatever is
    refused is refused by the policy."""

    def __init__(self, tools):
        self.tools, self.result, self.reached = sorted(tools), {}, False

    def answer(self, message):
        if "id" not in message:
            return None
        return {"jsonrpc": "2.0", "id": message["id"], "result": self.result_of(message["method"], message["params"])}

    def result_of(self, method, params):
        if method == "initialize":
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}, "resources": {}}, "serverInfo": {"name": "mcpsec", "version": "1"}}
        if method == "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in self.tools]}
        if method in ("tools/call", "resources/read"):
            self.reached = True
            return self.result
        return {}


class Gateway:
    """The product, with the server behind it, spoken to as a client does that starts it."""

    def __init__(self, portcullis, policy, url, data, server):
        shutil.rmtree(data, ignore_errors=True)
        command = [portcullis, "wrap", "--policy", policy, "--label", "mcpsec", "--data-dir", data, "--url", url]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self.server, self.count = server, 0
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "mcpsec", "version": "1"}}
        if "result" not in self.ask("initialize", client):
            sys.exit("the gateway does not start")
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.count += 1
        self.send({"id": self.count, "method": method, "params": params})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.count and "method" not in answer:
                return answer
        sys.exit("the gateway has ended")

    def judge(self, question):
        """The verdict, and the rule where the answer names one."""
        told = question.get("_test_response", {})
        # An error comes as a result: the verdict is about the call, whatever becomes of it.
        self.server.result = told if "content" in told else {"content": [{"type": "text", "text": json.dumps(told)}], "contents": []}
        self.server.reached = False
        result = self.ask(*request_of(question)).get("result", {})
        if self.server.reached:
            return {"verdict": "Allow"}, ""
        decision = result.get("_meta", {}).get("portcullis/decision", {})
        refusal = {"verdict": "Deny"}
        if decision.get("retry_after_s"):
            refusal["rate_limited"] = True
        return refusal, decision.get("rule", "")

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=30)
        finally:
            self.process.kill()


@contextlib.contextmanager
def gateway(portcullis, policy, tools, data):
    server = Server(tools)
    with service(server.answer) as url:
        running = Gateway(portcullis, policy, url + "/mcp", data, server)
        try:
            yield running
        finally:
            running.close()


def run(mcpsec, judge):
    """The suite's report, and what was asked and answered for each of its tests."""
    asked = []

    def answer(question):
        verdict, rule = judge(question)
        # A test about rates asks the same many times: its last answer counts.
        if asked and asked[-1][0] == question:
            asked.pop()
        asked.append((question, rule))
        return verdict

    with service(answer) as url:
        done = subprocess.run([mcpsec, "--target", url], capture_output=True, text=True, check=True, timeout=PATIENCE)
    report = json.loads(done.stdout)
    if len(asked) != len(report["attacks"]):
        sys.exit(f"{len(report['attacks'])} tests put {len(asked)} questions")
    return report, asked


def reason_of(rule):
    """What a refusal was for, by the rule that the answer names; reads of resources name none."""
    if "/limits/" in rule:
        return "limit"
    return "argument" if rule.startswith("/tools/") else "name"


def print_classes(ours, denies, allows, asked):
    """A test is claimed if it is about a call, and not every answer passes it."""
    rows, reasons = {}, {"argument": 0, "name": 0, "limit": 0}
    for test, deny, allow, (question, rule) in zip(ours["attacks"], denies["attacks"], allows["attacks"], asked):
        claimed = is_about_a_call(question) and not (deny["passed"] and allow["passed"])
        cells = [1, claimed, claimed and test["passed"], test["passed"], deny["passed"], allow["passed"]]
        name = f"{test['attack_id'].split('.')[0]} {test['class']}"
        rows[name] = [sum(pair) for pair in zip(rows.get(name, [0] * len(cells)), cells)]
        if claimed and test["passed"]:
            reasons[reason_of(rule)] += 1
    rows["all"] = [sum(column) for column in zip(*rows.values())]
    print("| class | tests | claimed | of the claimed, passed | of all, passed | deny everything | allow everything |")
    print("|---|---|---|---|---|---|---|")
    for name, (tests, claimed, held, *passed) in rows.items():
        print(f"| {name} | {tests} | {claimed or 'none'} | {f'{held} of {claimed}' if claimed else '-'} | {' | '.join(map(str, passed))} |")
    scores = " | ".join(f"{report['overall_score']:.0f}%" for report in (ours, denies, allows))
    print(f"| the suite's own weighted score | | | | {scores} |")
    print(f"\nOf the claimed tests that pass, {reasons['argument']} are refused for an argument, {reasons['name']} for the name of a tool or a resource, {reasons['limit']} by a limit.\n")


def print_legitimate(calls, judge):
    rows = {}
    for call in calls:
        refused = judge(call)[0]["verdict"] == "Deny"
        for name in (f"{call['tool']}.{call['function']}", "all"):
            count = rows.setdefault(name, [0, 0])
            count[0], count[1] = count[0] + 1, count[1] + refused
    rows["all"] = rows.pop("all")
    print("| legitimate calls | tried | wrongly refused |\n|---|---|---|")
    for name, (tried, refused) in rows.items():
        print(f"| {name} | {tried} | {refused} |")


def main():
    portcullis, mcpsec, policy, legitimate, work = sys.argv[1:]
    calls, data = json.loads(pathlib.Path(legitimate).read_text()), pathlib.Path(work) / "data"
    allows, asked = run(mcpsec, lambda _: ({"verdict": "Allow"}, ""))
    denies, _ = run(mcpsec, lambda _: ({"verdict": "Deny"}, ""))
    requests = map(request_of, [question for question, _ in asked] + calls)
    tools = {params["name"] for method, params in requests if method == "tools/call"}
    with gateway(portcullis, policy, tools, data) as running:
        ours, asked = run(mcpsec, running.judge)
    print_classes(ours, denies, allows, asked)
    # A gateway of its own, so that nothing is refused for what the suite has used up.
    with gateway(portcullis, policy, tools, data) as running:
        print_legitimate(calls, running.judge)


main()
