"""Another user tries to listen on a port of loopback: ``port_taker USER PORT``."""

import socket
import sys

from support.intruders.other_users import become

if __name__ == "__main__":
    become(sys.argv[1])
    taken = []
    for option in (None, socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        with socket.socket() as listener:
            if option is not None:
                listener.setsockopt(socket.SOL_SOCKET, option, 1)
            try:
                listener.bind(("127.0.0.1", int(sys.argv[2])))
                listener.listen()
                taken.append(option)
            except OSError:
                continue
    sys.stdout.write("taken\n" if taken else "refused\n")
