#!/usr/bin/python3
"""Stands in for a Chromium that a page has taken over: greets the server as Chromium does, answers what the server asks next with a
message that is nested deeply, and stays."""
import json
import os
import signal

commands, answers = 3, 4


def read_command():
    text = b""
    while not text.endswith(b"\0"):
        text += os.read(commands, 1)
    return json.loads(text[:-1])


while True:
    command = read_command()
    if command["method"] == "Target.createBrowserContext":
        os.write(answers, b'{"id":%d,"result":{"x":%s%s}}\0' % (command["id"], b"[" * 1000, b"]" * 1000))
        break
    os.write(answers, json.dumps({"id": command["id"], "result": {"product": "captured"}}).encode() + b"\0")
while True:
    signal.pause()
