"""Requests of another user to Prefect's server: ``api_intruder USER PORT ROUTES [SECRET]``.

ROUTES is a JSON list of ``[method, path]``; an empty USER is the one that calls it. Prints a JSON
list of what was answered with anything but a refusal.
"""

import base64
import http.client
import json
import sys

from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from support.intruders.other_users import become

REFUSED = (401, 403, 404)
STREAMS = ("/api/events/out", "/api/events/in", "/api/logs/out")
SECONDS = 10


def answers(port: int, method: str, path: str, secret: str) -> bool:
    """Return whether a request is served."""
    given = base64.b64encode((secret or "tclose:guess").encode()).decode()
    headers = {"Authorization": f"Basic {given}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    connection.request(method, path, body="{}", headers=headers)
    return connection.getresponse().status not in REFUSED


def streams(port: int, path: str, secret: str) -> bool:
    """Return whether a stream continues after a token was sent."""
    try:
        with connect(
            f"ws://127.0.0.1:{port}{path}", subprotocols=[Subprotocol("prefect")]
        ) as stream:
            stream.send(json.dumps({"type": "auth", "token": secret or "guess"}))
            return bool(json.loads(stream.recv(SECONDS))["type"] == "auth_success")
    except (OSError, ConnectionClosed, WebSocketException):
        return False


if __name__ == "__main__":
    streams(0, "", "")  # so that all is imported that another user might not be able to read
    if sys.argv[1]:
        become(sys.argv[1])
    where, routes, known = int(sys.argv[2]), json.loads(sys.argv[3]), "".join(sys.argv[4:])
    achieved = [path for method, path in routes if answers(where, method, path, known)]
    achieved += [path for path in STREAMS if streams(where, path, known)]
    sys.stdout.write(json.dumps(achieved) + "\n")
