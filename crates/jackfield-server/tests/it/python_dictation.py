"""A client that dictates, written only from docs/protocol.md, with the package `websockets` and nothing of ours.

python_dictation.py ADDRESS TOKEN_FILE SOUND sends raw sound (16-bit samples, 16 kHz, one channel) as fast as it is spoken,
and prints what came of it as one JSON object.
"""

import asyncio
import json
import pathlib
import sys

import websockets

PATIENCE = 60
TENTH = 3200


async def main(address, token_file, sound_file):
    token = pathlib.Path(token_file).read_text().strip()
    sound = pathlib.Path(sound_file).read_bytes()
    headers = {"Authorization": f"Bearer {token}"}
    async with websockets.connect(f"ws://{address}/api/socket", additional_headers=headers) as socket:

        async def receive():
            return json.loads(await asyncio.wait_for(socket.recv(), PATIENCE))

        await socket.send(json.dumps({"type": "hello", "version": 1, "client": "python"}))
        hello = await receive()
        assert "dictation" in hello["capabilities"], hello

        async def speak():
            for at in range(0, len(sound), TENTH):
                await socket.send(sound[at : at + TENTH])
                await asyncio.sleep(0.1)
            await socket.send(json.dumps({"type": "dictation_stop", "id": "d1"}))

        await socket.send(json.dumps({"type": "dictation_start", "id": "d1", "language": "en"}))
        speaking = asyncio.create_task(speak())
        states = []
        while True:
            frame = await receive()
            assert frame["type"] == "dictation" and frame["id"] == "d1", frame
            states.append(frame["state"])
            if frame["state"] in ("final", "failed", "cancelled"):
                break
        await speaking
        assert states[0] == "listening" and states[-1] == "final", frame
        print(json.dumps({"text": frame["text"], "interims": states.count("interim")}))


asyncio.run(main(*sys.argv[1:]))
