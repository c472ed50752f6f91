"""Remote control of Python's `agent-client-protocol`: see README.md for the lines that go in and come out.

    client.py PROGRAM [ARGUMENT…]

It decides nothing: what it is told to say it says by the package, and what the package hands over it tells. The
package has read every message into its models before we see it, so what is told is what was understood.
"""

import asyncio
import itertools
import json
import os
import sys

from acp import RequestError, schema, spawn_agent_process

# What the package calls the methods.
METHODS = {
    "initialize": ("initialize", schema.InitializeRequest),
    "session/new": ("new_session", schema.NewSessionRequest),
    "session/load": ("load_session", schema.LoadSessionRequest),
    "session/resume": ("resume_session", schema.ResumeSessionRequest),
    "session/list": ("list_sessions", schema.ListSessionsRequest),
    "session/close": ("close_session", schema.CloseSessionRequest),
    "session/fork": ("fork_session", schema.ForkSessionRequest),
    "session/prompt": ("prompt", schema.PromptRequest),
    "session/cancel": ("cancel", schema.CancelNotification),
    "session/set_mode": ("set_session_mode", schema.SetSessionModeRequest),
}
# A line of an agent can be long.
LIMIT = 64 * 1024 * 1024


def tell(line):
    print(json.dumps(line), flush=True)


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


class Client:
    """What the agent may ask of us."""

    def __init__(self):
        self.numbers = itertools.count(1)
        self.open = {}

    async def ask(self, method, params):
        number = next(self.numbers)
        self.open[number] = asyncio.get_running_loop().create_future()
        tell({"asked": number, "method": method, "params": params})
        return await self.open[number]

    async def request_permission(self, options, session_id, tool_call, **_):
        params = {
            "sessionId": session_id,
            "toolCall": plain(tool_call),
            "options": [plain(option) for option in options],
        }
        answer = await self.ask("session/request_permission", params)
        return schema.RequestPermissionResponse.model_validate(answer)

    async def session_update(self, session_id, update, **_):
        tell({"heard": "session/update", "params": {"sessionId": session_id, "update": plain(update)}})

    async def ext_notification(self, method, params):
        tell({"heard": method, "params": params})

    def on_connect(self, conn):
        pass


async def call(connection, line):
    name, model = METHODS[line.get("method") or line["notify"]]
    request = model.model_validate(line["params"])
    given = {field: getattr(request, field) for field in request.model_fields_set}
    return await getattr(connection, name)(**given)


async def answered(connection, line):
    try:
        result = await call(connection, line)
        tell({"reply": line["call"], "result": None if result is None else plain(result)})
    except RequestError as error:
        tell({"reply": line["call"], "error": error.to_error_obj()})


async def main():
    program, *words = sys.argv[1:]
    client = Client()
    lines = asyncio.StreamReader(limit=LIMIT)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    calls = set()
    pipes = {"limit": LIMIT, "shutdown_timeout": 60.0, "stderr": None}
    agent = spawn_agent_process(client, program, *words, env=dict(os.environ), transport_kwargs=pipes)
    async with agent as (connection, _):
        while text := await lines.readline():
            line = json.loads(text)
            if "call" in line:
                calls.add(asyncio.create_task(answered(connection, line)))
            elif "notify" in line:
                await call(connection, line)
            else:
                client.open.pop(line["answer"]).set_result(line["result"])


asyncio.run(main())
