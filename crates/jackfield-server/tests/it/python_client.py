"""A client written only from docs/protocol.md, with the package `websockets` and nothing of ours.

python_client.py ADDRESS TOKEN_FILE FOLDER drives a whole session with the demo agent: creates it, prompts, answers
questions, loses its connection in the middle of a turn, comes back with its cursor, repeats a command whose answer it
never saw, interrupts. It prints what it has seen as one JSON object, and fails if anything is not as the document says.
"""

import asyncio
import json
import pathlib
import sys
import urllib.request
import uuid

import websockets

PATIENCE = 60


class Client:
    def __init__(self, address, token):
        self.address = address
        self.token = token
        self.host_id = None
        self.session = None
        self.cursor = None
        self.events = []
        self.answers = {}
        self.current = False
        self.socket = None

    async def connect(self):
        self.socket = await websockets.connect(
            f"ws://{self.address}/api/socket",
            additional_headers={"Authorization": f"Bearer {self.token}"},
            max_size=None,
        )
        await self.send({"type": "hello", "version": 1, "client": "python"})
        hello = await self.receive()
        assert hello["type"] == "hello" and hello["version"] == 1, hello
        assert self.host_id in (None, hello["host_id"]), "another host"
        self.host_id = hello["host_id"]
        if self.session is not None:
            await self.subscribe()

    async def subscribe(self):
        frame = {"type": "subscribe", "session_id": self.session}
        if self.cursor is not None:
            frame["after"] = self.cursor
        self.current = False
        await self.send(frame)

    async def send(self, frame):
        await self.socket.send(json.dumps(frame))

    async def receive(self):
        return json.loads(await asyncio.wait_for(self.socket.recv(), PATIENCE))

    async def command(self, command, session=True):
        """Sends a command; its id is the name under which the answer will be found."""
        frame = {"type": "command", "id": str(uuid.uuid4()), "command": command}
        if session:
            frame["session_id"] = self.session
        await self.send(frame)
        return frame

    async def step(self):
        """Takes one frame into account."""
        frame = await self.receive()
        kind = frame["type"]
        if kind == "snapshot":
            self.cursor = frame["snapshot"]["seq"]
        elif kind == "events":
            for event in frame["events"]:
                assert event["seq"] == self.cursor + 1, f"a hole or a double: {self.cursor}, {event['seq']}"
                self.cursor = event["seq"]
                self.events.append(event)
        elif kind == "current":
            assert frame["seq"] == self.cursor
            self.current = True
        elif kind == "accepted":
            self.answers[frame["id"]] = frame["reply"]
        elif kind == "rejected":
            self.answers[frame["id"]] = frame["rejection"]
        else:
            raise AssertionError(f"unexpected: {frame}")

    async def answered(self, frame):
        while frame["id"] not in self.answers:
            await self.step()
        return self.answers[frame["id"]]

    async def until(self, kind, after):
        """The first event of a type behind a cursor."""
        seen = 0
        while True:
            for event in self.events[seen:]:
                if event["type"] == kind and event["seq"] > after:
                    return event
            seen = len(self.events)
            await self.step()

    def ask(self, path):
        request = urllib.request.Request(f"http://{self.address}{path}")
        request.add_header("Authorization", f"Bearer {self.token}")
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read().decode()


def prompt(text):
    content = [{"type": "text", "text": text}]
    return {"type": "prompt", "uuid": str(uuid.uuid4()), "content": content, "priority": "next"}


def answer(event, verdict):
    return {"type": "answer", "pending_id": event["pending_id"], "verdict": verdict}


async def main(address, token_file, folder):
    client = Client(address, pathlib.Path(token_file).read_text().strip())
    await client.connect()
    create = {"type": "create_session", "cwd": folder, "agent": "demo", "origin": "new"}
    reply = await client.answered(await client.command(create, session=False))
    assert reply["type"] == "created", reply
    client.session = reply["session_id"]
    await client.subscribe()
    while not client.current:
        await client.step()

    # A turn with two questions, and a connection that breaks between them.
    said = await client.command(prompt("edit"))
    first = await client.until("permission_request", 0)
    assert (await client.answered(said))["type"] == "done"
    allowed = await client.command(answer(first, {"type": "allow"}))
    await client.socket.close()
    await client.connect()
    # Its answer was never seen: the same command again, with the same id.
    await client.send(allowed)
    assert (await client.answered(allowed))["type"] == "done"
    resolved = await client.until("permission_resolved", first["seq"])
    assert (resolved["outcome"], resolved["by"]) == ("allowed", "python"), resolved
    second = await client.until("permission_request", resolved["seq"])
    no = {"type": "deny", "message": "not this one"}
    assert (await client.answered(await client.command(answer(second, no))))["type"] == "done"
    late = await client.answered(await client.command(answer(second, {"type": "allow"})))
    assert late["code"] == "too_late", late
    done = await client.until("complete", second["seq"])

    # A turn that is interrupted while it asks.
    await client.command(prompt("edit"))
    third = await client.until("permission_request", done["seq"])
    assert (await client.answered(await client.command({"type": "interrupt"})))["type"] == "done"
    last = await client.until("complete", third["seq"])

    # What REST has of it is what was seen.
    stored = []
    while True:
        after = stored[-1]["seq"] if stored else 0
        lines = client.ask(f"/api/sessions/{client.session}/events?after={after}").splitlines()
        if not lines:
            break
        stored.extend(json.loads(line) for line in lines)
    upto = [event for event in stored if event["seq"] <= client.cursor]
    first_seen = client.events[0]["seq"]
    assert upto[first_seen - 1 :] == client.events, "REST and the WebSocket differ"
    assert [event["seq"] for event in stored] == list(range(1, len(stored) + 1)), "a hole"
    assert json.loads(client.ask("/api/desk")) == []

    await client.answered(await client.command({"type": "close"}))
    await client.until("run_ended", last["seq"])
    await client.socket.close()
    seqs = [event["seq"] for event in client.events]
    print(json.dumps({"session_id": client.session, "first": seqs[0], "last": seqs[-1], "events": len(seqs)}))


asyncio.run(main(*sys.argv[1:]))
