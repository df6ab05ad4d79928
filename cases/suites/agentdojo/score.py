"""Replays AgentDojo without a model: the calls that solve its user tasks, and those that its injections want.

Each call is judged by `portcullis policy test`, under the policy of its task's class. Prints the table for
docs/attacks.md. Usage: score.py PORTCULLIS POLICIES WORK_DIRECTORY
"""

import importlib.abc
import importlib.machinery
import json
import pathlib
import subprocess
import sys
from unittest.mock import MagicMock

# The suite imports its clients for language models on the way; no task needs them.
ABSENT = {"anthropic", "cohere", "openai", "google", "langchain", "requests", "torch", "transformers"}
VERSION = "v1.2.2"
# Tools that change nothing, by how their names begin.
READS = ("get_", "read_", "search_", "list_", "check_")


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in ABSENT:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = MagicMock(name=spec.name)
        module.__path__, module.__spec__ = [], spec
        return module

    def exec_module(self, module):
        pass


def calls_of(tasks, environment):
    """The calls of each task that has any."""
    found = {name: [(call.function, dict(call.args)) for call in task.ground_truth(environment)] for name, task in tasks.items()}
    return {name: calls for name, calls in found.items() if calls}


def is_read(call):
    return call[0].startswith(READS)


def judge(portcullis, policy, calls, work):
    """Whether each call is allowed under the policy."""
    cases = [{"name": str(number), "call": {"tool": tool, "args": args}, "expect": {"decision": "allow"}} for number, (tool, args) in enumerate(calls)]
    file = work / "replay.json"
    file.write_text(json.dumps([{"policy": policy, "cases": cases}], default=str))
    done = subprocess.run([portcullis, "policy", "test", "--json", str(file)], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr or done.stdout)
    return [case["passed"] for case in json.loads(done.stdout)["files"][0]["cases"]]


def score(suite, policies, ask):
    environment = suite.load_and_inject_default_environment({})
    users, injections = calls_of(suite.user_tasks, environment), calls_of(suite.injection_tasks, environment)
    row = dict(tasks=len(users), solved=0, calls=0, refused=0, pairs=0, stopped=0, clean=0)
    allowed = {kind: {name: ask(policy, calls) for name, calls in injections.items()} for kind, policy in policies.items()}
    for name, calls in users.items():
        kind = "reads" if all(map(is_read, calls)) else "acts"
        passed = ask(policies[kind], calls)
        row["solved"] += all(passed)
        row["calls"] += len(passed)
        row["refused"] += passed.count(False)
        for injection, wanted in injections.items():
            got = allowed[kind][injection]
            row["pairs"] += 1
            row["stopped"] += not all(got)
            row["clean"] += not any(let and not is_read(call) for let, call in zip(got, wanted))
    return row


def main():
    portcullis, policies, work = sys.argv[1], json.loads(pathlib.Path(sys.argv[2]).read_text()), pathlib.Path(sys.argv[3])
    sys.meta_path.insert(0, Absent())
    from agentdojo.task_suite.load_suites import get_suites

    rows = {}
    for name, suite in sorted(get_suites(VERSION).items()):
        rows[name] = score(suite, policies[name], lambda policy, calls: judge(portcullis, policy, calls, work))
    rows["all"] = {key: sum(row[key] for row in rows.values()) for key in next(iter(rows.values()))}
    print("| suite | user tasks whose every call passes | of their calls, refused | injections that do not get all they want | that change nothing |")
    print("|---|---|---|---|---|")
    for name, row in rows.items():
        print(f"| {name} | {row['solved']} of {row['tasks']} | {row['refused']} of {row['calls']} | {row['stopped']} of {row['pairs']} | {row['clean']} of {row['pairs']} |")


main()
