# SPDX-License-Identifier: MIT
"""Scripted ends of netperf 2.7, to be led message by message by a test.

    with Client(host, port) as c:                  # against a netserver
        c.ask("TCP_STREAM", length=1)              # a request; .answer is what came
        sent = c.run(0.2)                          # data, for about so many seconds
        got = c.results()
        assert got.received == sent

    with Server(host) as s:                        # against a netperf
        ... start netperf -p s.port ...
        s.take()                                   # its control connection
        s.hear()                                   # .request, and what kind of test it is: .test
        s.reply()                                  # the data socket is bound, and told
        s.serve()                                  # data, to the end
        s.results()

Messages are 656 bytes; .log keeps them as they crossed ("c" or "s" for who spoke, and the bytes).
Everything waits only so long. close() ends all of it; a peer is a context manager.
"""
import contextlib
import select
import socket
import struct
import threading
import time

from kit.net import poll, slow

BYTES = 656
NONE = 0xffffffff
SEND, RECV = 2, 4  # of the server, as they travel
NODELAY, CONNECT, MEASURE, ROUTE = 0x1, 0x4, 0x8, 0x20
UNKNOWN = 998

# name: (offset, how it is read); "u" unsigned, "i" signed, "f" float, "d" double, a number: bytes of text
OMNI = {
    "request": {"type": (0, "u"), "cpu": (4, "i"), "sndbuf": (8, "i"), "send_size": (12, "i"),
                "send_align": (16, "u"), "send_offset": (20, "u"), "send_width": (24, "u"),
                "request": (28, "i"), "rcvbuf": (32, "i"), "recv_size": (36, "i"),
                "recv_align": (40, "u"), "recv_offset": (44, "u"), "recv_width": (48, "u"),
                "response": (52, "i"), "flags": (56, "u"), "rate": (60, "f"), "length": (64, "i"),
                "port": (88, "u"), "family": (92, "u"), "kind": (96, "u"), "protocol": (100, "u"),
                "direction": (104, "u"), "client_port": (108, "u"), "burst": (112, "u"),
                "interval": (116, "u"), "server_ip": (136, "u"), "priority": (152, "i"), "tos": (156, "i"), "cc": (160, 16),
                "file": (176, 32)},
    "response": {"type": (0, "u"), "error": (4, "u"), "rcvbuf": (8, "i"), "recv_size": (12, "i"),
                 "recv_width": (16, "i"), "sndbuf": (20, "i"), "send_size": (24, "i"),
                 "send_width": (28, "i"), "flags": (32, "u"), "rate": (36, "f"), "port": (52, "u"),
                 "burst": (56, "u"), "interval": (60, "u"), "priority": (72, "i"), "tos": (76, "i")},
    "results": {"type": (0, "u"), "error": (4, "u"), "rx_high": (8, "u"), "rx_low": (12, "u"),
                "rx_calls": (16, "u"), "rcvbuf": (20, "i"), "tx_high": (24, "u"), "tx_low": (28, "u"),
                "tx_calls": (32, "u"), "sndbuf": (36, "i"), "failed": (40, "u"),
                "transactions": (44, "u"), "elapsed": (48, "f"), "cpu": (52, "f"), "user": (56, "f"),
                "system": (60, "f"), "iowait": (64, "f"), "irq": (68, "f"), "softirq": (72, "f"),
                "demand": (76, "f"), "method": (80, "u"), "cpus": (84, "u"), "peak_id": (88, "i"),
                "peak": (92, "f"), "retransmits": (112, "i"), "cc": (276, 16)},
}
STREAM = {
    "request": {"type": (0, "u"), "cpu": (4, "i"), "sndbuf": (8, "i"), "rcvbuf": (12, "i"),
                "recv_size": (16, "u"), "recv_align": (20, "u"), "nodelay": (28, "u"), "measure": (32, "u"),
                "length": (40, "i"), "port": (60, "u"), "family": (64, "u")},
    "response": {"type": (0, "u"), "error": (4, "u"), "rcvbuf": (8, "i"), "recv_size": (12, "i"),
                 "sndbuf": (28, "i"), "port": (32, "u")},
    "results": {"type": (0, "u"), "error": (4, "u"), "bytes": (8, "d"), "rx_calls": (16, "u"),
                "elapsed": (20, "f"), "cpu": (24, "f"), "method": (32, "u"), "cpus": (36, "u")},
}
RR = {
    "request": {"type": (0, "u"), "cpu": (4, "i"), "rcvbuf": (8, "i"), "sndbuf": (12, "i"),
                "recv_align": (16, "u"), "send_align": (24, "u"), "request": (32, "i"), "response": (36, "i"), "nodelay": (40, "u"),
                "measure": (44, "u"), "length": (52, "i"), "port": (64, "u"), "family": (68, "u")},
    "response": {"type": (0, "u"), "error": (4, "u"), "rcvbuf": (8, "i"), "sndbuf": (24, "i"),
                 "port": (28, "u")},
    "results": {"type": (0, "u"), "error": (4, "u"), "bytes": (8, "u"), "rx_calls": (12, "u"),
                "transactions": (16, "u"), "elapsed": (20, "f"), "cpu": (24, "f"),
                "method": (32, "u"), "cpus": (36, "u")},
}
LAYOUTS = {97: OMNI, 10: STREAM, 300: RR}

# name: type, direction of the server, datagrams, a connection for each transaction
TESTS = {
    "TCP_STREAM": (97, RECV, False, False),
    "TCP_MAERTS": (97, SEND, False, False),
    "TCP_RR": (97, SEND | RECV, False, False),
    "TCP_CRR": (97, SEND | RECV, False, True),
    "UDP_STREAM": (97, RECV, True, False),
    "UDP_RR": (97, SEND | RECV, True, False),
    "UDP_MAERTS": (97, SEND, True, False),
    "TCP_SENDFILE": (10, RECV, False, False),
    "TCP_CC": (300, 0, False, True),
}


class Message:
    """The words of a message by their names; .raw is all of it."""

    def __init__(self, raw, fields):
        self.raw = raw
        for name, (at, how) in fields.items():
            setattr(self, name, _get(raw, at, how))

    @property
    def received(self):
        if hasattr(self, "bytes"):
            return int(self.bytes)
        return self.rx_high << 32 | self.rx_low

    @property
    def sent(self):
        return self.tx_high << 32 | self.tx_low


def _get(raw, at, how):
    if isinstance(how, int):
        return raw[at:at + how].split(b"\0")[0].decode("latin-1")
    return struct.unpack_from({"u": ">I", "i": ">i", "f": ">f", "d": ">d"}[how], raw, at)[0]


def _put(raw, at, how, value):
    if isinstance(how, int):
        raw[at:at + how] = value.encode()[:how - 1].ljust(how, b"\0")
    elif how in "fd":
        struct.pack_into(">" + how, raw, at, value)
    else:
        struct.pack_into(">I", raw, at, value & NONE)


def message(fields, junk=0, **words):
    """A message of these words; others are zero, or the junk that the original leaves there."""
    raw = bytearray([junk]) * BYTES
    for name, value in words.items():
        _put(raw, *fields[name], value)
    return bytes(raw)


def rows(raw):
    """{offset: "four words"}, those that are all zero left out, as a transcript shows them."""
    found = {}
    for at in range(0, BYTES, 16):
        if any(raw[at:at + 16]):
            found[at] = raw[at:at + 16].hex(" ", 4)
    return found


class Peer:
    """What both ends have: sockets in a host, the control connection."""

    me, other = "c", "s"

    def __init__(self, host, address="127.0.0.1"):
        self.host, self.address = host, address
        self.v6 = ":" in address
        self.link = None
        self.log = []
        self._sockets = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """End everything."""
        for sock in self._sockets:
            sock.close()

    def _socket(self, kind=socket.SOCK_STREAM):
        sock = self.host.socket(socket.AF_INET6 if self.v6 else socket.AF_INET, kind)
        return self._keep(sock)

    def _keep(self, sock):
        sock.settimeout(10.0 * slow())
        self._sockets.append(sock)
        return sock

    def say(self, raw, pieces=1):
        """A message, or as much of one, in so many pieces."""
        step = (len(raw) + pieces - 1) // pieces
        for at in range(0, len(raw), step):
            self.link.sendall(raw[at:at + step])
            if pieces > 1:
                time.sleep(0.01)
        self.log.append((self.me, raw))

    def hear_raw(self, within=10.0):
        """The next message, or None where the connection ends before one."""
        self.link.settimeout(within * slow())
        raw = b""
        try:
            while len(raw) < BYTES:
                piece = self.link.recv(BYTES - len(raw))
                if not piece:
                    break
                raw += piece
        except ConnectionError:
            raw = b""
        assert len(raw) in (0, BYTES), f"a fragment of a message: {raw.hex()}"
        if raw:
            self.log.append((self.other, raw))
        return raw or None

    def is_silent(self, seconds=0.3):
        """Nothing comes on the control connection for so long (a time that only bounds a proof)."""
        ready, _, _ = select.select([self.link], [], [], seconds)
        return not ready


class Client(Peer):
    """netperf's end."""

    def __init__(self, host, port, address="127.0.0.1"):
        super().__init__(host, address)
        self.link = self._socket()
        self.link.connect((address, port))
        self.layout = self.answer = self.data = self.test = None
        self.turn = (1, 1)

    def phrase(self, text):
        """There is no reply."""
        raw = bytearray(BYTES)
        raw[0:8] = struct.pack(">II", 6, NONE)
        raw[8:8 + len(text)] = text.encode()
        self.say(bytes(raw))

    def call(self, kind, pieces=1):
        """A message of a type alone, and its reply."""
        self.say(struct.pack(">II", kind, NONE) + bytes(BYTES - 8), pieces)
        return self.hear_raw()

    def request(self, test, **words):
        """The message of a request, as the original's command line without options makes it."""
        kind, direction, udp, connects = TESTS[test]
        both = direction == SEND | RECV
        self.test, self.layout = test, LAYOUTS[kind]
        plain = {"type": kind, "cpu": -1, "sndbuf": -1, "rcvbuf": -1, "length": 1,
                 "send_size": -1, "recv_size": 0 if kind == 10 else -1, "send_align": 8,
                 "recv_align": 8, "request": 1 if both else -1, "response": 1 if both else -1,
                 "flags": (CONNECT if connects else 0) | (0 if udp and not both else ROUTE),
                 "family": 6 if self.v6 else 4, "kind": 2 if udp else 1,
                 "protocol": 17 if udp else 6, "direction": direction, "priority": -1, "tos": -1}
        plain.update(words)
        self.turn = (plain["request"], plain["response"])
        known = self.layout["request"]
        return message(known, **{k: v for k, v in plain.items() if k in known})

    def ask(self, test, pieces=1, **words):
        """A request and its answer."""
        udp = TESTS[test][2]
        if udp:
            self.data = self._socket(socket.SOCK_DGRAM)
            self.data.bind((self.address, 0))
            words.setdefault("client_port", self.data.getsockname()[1])
        self.say(self.request(test, **words), pieces)
        raw = self.hear_raw()
        assert raw, "the server closed the control connection instead of an answer"
        self.answer = Message(raw, self.layout["response"])
        return self.answer

    def connect(self):
        """The data connection; of datagrams there is none."""
        to = (self.address, self.answer.port)
        if TESTS[self.test][2]:
            self.data.connect(to)
        else:
            self.data = self._socket()
            self.data.connect(to)
        return self.data

    # --- data

    def run(self, seconds=0.2, size=8192):
        """Data of the test that was asked for, and its end. Returns bytes or transactions."""
        _, direction, udp, connects = TESTS[self.test]
        until = time.monotonic() + seconds
        if connects:
            return self._connections(until)
        self.connect()
        if direction == RECV:
            return self._flood(until, size, udp)
        if direction == SEND:
            return self._drain(udp)
        return self._transactions(until, udp)

    def _flood(self, until, size, udp):
        done = 0
        while time.monotonic() < until:
            done += self.data.send(bytes(size))
            if udp:
                time.sleep(0.001)
        self.finish(udp)
        return done

    def finish(self, udp=False):
        """As the original ends: three empty datagrams, or half a connection and then all of it."""
        if udp:
            with contextlib.suppress(ConnectionRefusedError):  # one is enough for who has gone then
                for _ in range(3):
                    self.data.send(b"")
            return
        self.data.shutdown(socket.SHUT_WR)
        while self.data.recv(1 << 16):
            pass

    def _drain(self, udp):
        done = 0
        self.data.settimeout(1.0 * slow() if udp else 10.0 * slow())
        while True:
            try:
                got = len(self.data.recv(1 << 18))
            except TimeoutError:
                return done
            if got == 0:
                return done
            done += got

    def _exchange(self, udp):
        request, response = self.turn
        self.data.sendall(b"n" * request)
        left = response
        while left > 0:
            got = len(self.data.recv(1 << 16))
            assert got > 0, "the server ended instead of a response"
            left -= got
        assert left == 0
        del udp

    def _transactions(self, until, udp):
        done = 0
        while time.monotonic() < until:
            self._exchange(udp)
            done += 1
        self.finish(udp)
        return done

    def _connections(self, until):
        """The server closes first; without a request it is all that it does."""
        done = 0
        while time.monotonic() < until:
            self.connect()
            if TESTS[self.test][1]:
                self._exchange(False)
            assert self.data.recv(1) == b""
            self.data.close()
            done += 1
        return done

    def results(self, within=10.0):
        raw = self.hear_raw(within)
        assert raw, "the server closed the control connection instead of results"
        return Message(raw, self.layout["results"])

    def leave(self, within=5.0):
        """Half of the connection ends, then the server's half."""
        self.link.shutdown(socket.SHUT_WR)
        self.link.settimeout(within * slow())
        return self.link.recv(1) == b""


class Server(Peer):
    """netserver's end; serves one control connection. junk: what the original leaves in words it does not set."""

    me, other = "s", "c"

    def __init__(self, host, address="127.0.0.1", junk=0):
        super().__init__(host, address)
        self.junk = junk
        self.door = self._socket()
        self.door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.door.bind((address, 0))
        self.door.listen(64)
        self.port = self.door.getsockname()[1]
        self.request = self.layout = self.data = None
        self.raw = None
        self.done = {}
        self._thread = None

    def take(self):
        """The control connection."""
        sock, _ = self.door.accept()
        self.link = self._keep(sock)

    def hear(self):
        """The next message; of a request also its words."""
        self.raw = self.hear_raw()
        assert self.raw, "the client closed the control connection"
        kind = struct.unpack_from(">I", self.raw)[0]
        self.layout = LAYOUTS.get(kind)
        self.request = Message(self.raw, self.layout["request"]) if self.layout else None
        return kind

    @property
    def udp(self):
        return getattr(self.request, "kind", 1) == 2

    @property
    def direction(self):
        return getattr(self.request, "direction", {10: RECV, 300: 0}.get(self.request.type))

    @property
    def connects(self):
        return self.request.type == 300 or bool(getattr(self.request, "flags", 0) & CONNECT)

    def listen(self):
        """The data socket; buffers are as the system has them."""
        self.data = self._socket(socket.SOCK_DGRAM if self.udp else socket.SOCK_STREAM)
        self.data.bind((self.address, self.request.port))
        if not self.udp:
            self.data.listen(5)
        return self.data.getsockname()[1]

    def reply(self, **words):
        """The answer; error=... for another one than the test."""
        q = self.request
        buffers = [socket.SO_RCVBUF, socket.SO_SNDBUF]
        port = 0 if words.get("error") else self.listen()
        rcvbuf, sndbuf = [self.data.getsockopt(socket.SOL_SOCKET, b) if port else 0 for b in buffers]
        measures = getattr(q, "flags", 0) & MEASURE
        plain = {"type": q.type + 1, "error": 0, "rcvbuf": rcvbuf, "sndbuf": sndbuf, "port": port,
                 "recv_size": getattr(q, "recv_size", -1), "send_size": getattr(q, "send_size", -1),
                 "recv_width": 1, "send_width": 1, "flags": measures,
                 "rate": 100.0 if measures else 0.0, "priority": -1, "tos": -1}
        plain.update(words)
        known = self.layout["response"]
        self.say(message(known, **{k: v for k, v in plain.items() if k in known}))

    # --- data

    def serve(self, seconds=None):
        """Data of the test to its end, or as long as a sender was asked. Counts are in .done."""
        self.done = {"rx": 0, "tx": 0, "rx_calls": 0, "tx_calls": 0, "transactions": 0,
                     "begun": time.monotonic(), "sizes": set(), "peers": set()}
        until = time.monotonic() + (seconds or self.request.length or 10)
        if self.udp:
            self._datagrams(until)
        elif self.connects:
            self._connections(until)
        else:
            sock = self._keep(self.data.accept()[0])
            if self.direction == SEND:
                self._send(sock, until)
            else:
                self._stream(sock)
            sock.close()
        self.done["elapsed"] = time.monotonic() - self.done["begun"]
        self.data.close()

    def start(self, seconds=None):
        """serve() in the background; wait() for its end."""
        self._thread = threading.Thread(target=self.serve, args=(seconds,), daemon=True)
        self._thread.start()

    def wait(self, within=10.0):
        self._thread.join(within * slow())
        assert not self._thread.is_alive(), "the data has not ended"

    def _got(self, data):
        self.done["rx"] += len(data)
        self.done["rx_calls"] += 1
        self.done["sizes"].add(len(data))

    def _gave(self, n):
        self.done["tx"] += n
        self.done["tx_calls"] += 1

    def _stream(self, sock):
        """Until the client ends; in turns where both speak."""
        request, response = self.request_sizes()
        while True:
            data = sock.recv(request or 1 << 18)
            if not data:
                return
            self._got(data)
            while response and len(data) < request:
                more = sock.recv(request - len(data))
                self.done["rx"] += len(more)
                data += more
            if response:
                sock.sendall(b"n" * response)
                self._gave(response)
                self.done["transactions"] += 1

    def request_sizes(self):
        q = self.request
        return (q.request, q.response) if self.direction == SEND | RECV else (0, 0)

    def _send(self, sock, until):
        sock.settimeout(0.2)
        while time.monotonic() < until:
            try:
                self._gave(sock.send(bytes(16384)))
            except TimeoutError:
                continue
            except ConnectionError:
                return

    def _connections(self, until):
        """Only time tells that the client has ended: no connection comes any more."""
        request, response = self.request_sizes()
        while True:
            if not select.select([self.data], [], [], 0.3 * slow())[0]:
                if time.monotonic() < until:
                    continue
                return
            sock, (_, port, *_) = self.data.accept()
            self.done["peers"].add(port)
            with sock:
                sock.settimeout(5.0 * slow())
                if request:
                    self._got(sock.recv(request))
                    sock.sendall(b"n" * response)
                    self._gave(response)
                self.done["transactions"] += 1

    def _datagrams(self, until):
        _, response = self.request_sizes()
        if self.direction == SEND:
            self._send_datagrams(until)
            return
        while True:
            data, peer = self.data.recvfrom(1 << 16)
            self.done["peers"].add(peer[1])
            if not data:
                return
            self._got(data)
            if response:
                self.data.sendto(b"n" * response, peer)
                self._gave(response)
                self.done["transactions"] += 1

    def _send_datagrams(self, until):
        to = (self.address, self.request.client_port)
        while time.monotonic() < until:
            self._gave(self.data.sendto(bytes(1024), to))
            time.sleep(0.001)

    def results(self, **words):
        """What was counted; words of one's own instead of it."""
        d, q = self.done, self.request
        measures = getattr(q, "flags", 0) & MEASURE
        plain = {"type": 0x62000000 if q.type == 97 else q.type + 2, "error": 0,
                 "rx_high": d["rx"] >> 32, "rx_low": d["rx"] & NONE, "rx_calls": d["rx_calls"],
                 "tx_high": d["tx"] >> 32, "tx_low": d["tx"] & NONE, "tx_calls": d["tx_calls"],
                 "bytes": d["rx"], "rcvbuf": 1026899, "sndbuf": 3939840,
                 "transactions": d["transactions"], "elapsed": d["elapsed"], "failed": 0,
                 "retransmits": -1 if self.udp or self.connects else 0,
                 "cc": "" if self.udp or self.connects else "cubic"}
        if measures:
            plain.update(cpu=50.0, user=20.0, system=20.0, iowait=0.0, irq=0.0, softirq=10.0,
                         method=8, cpus=2, peak_id=1, peak=75.0)
        plain.update(words)
        known = self.layout["results"]
        self.say(message(known, self.junk, **{k: v for k, v in plain.items() if k in known}))

    def is_left(self, within=5.0):
        """The client ends its half of the control connection; ours ends too."""
        ended = self.hear_raw(within) is None
        self.link.close()
        return ended

    def whole(self, within=15.0, **words):
        """A test from the request to its results."""
        self.hear()
        self.reply()
        self.start()
        self.wait(within)
        self.results(**words)


def wait_port(host, port):
    """Until somebody listens on it."""
    poll(f"port {port}", lambda: host.listening(port), 10.0 * slow())
