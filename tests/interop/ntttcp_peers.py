# SPDX-License-Identifier: MIT
"""Scripted ends of NTttcp, Linux and Windows, to be led word by word by a test.

    peer = LinuxSender(host, base, ports=2)
    assert peer.ask(X) == FREE and peer.ask(5) == 5
    peer.connect()
    assert peer.ask(R) == R
    peer.flood()
    ...
    assert peer.sync == ["s 00000058", "r 0000000b", ...]

Words of the sync connection are kept in .sync as they crossed it, "s" or "r" for who spoke. Everything
waits only so long. close() ends all of it; a peer is a context manager.
"""
import selectors
import socket
import struct
import threading
import time

from kit.net import poll, slow

X, R, L, W, E = b"XRLWE"
UNKNOWN, FREE, BUSY, FINISHED = 10, 11, 12, 13
FIN, RST = "FIN", "RST"
TOKENS = 1000  # from a data port to its token port


class Peer:
    """What both ends have: sockets in a host, the sync connection, data in the background."""

    me, other = "s", "r"

    def __init__(self, host, base, ports=1, udp=False, address="127.0.0.1"):
        self.host, self.base, self.ports, self.udp, self.address = host, base, ports, udp, address
        self.link = None   # sync connection
        self.sync = []     # what crossed it
        self.data = []     # connections, or datagram sockets
        self.bytes = []    # that passed each of them
        self.sizes = set()  # of datagrams that came
        self.fill = set()   # bytes that came
        self.ended = {}    # connection: FIN or RST
        self._sockets = []
        self._threads = []
        self._stop = threading.Event()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """End everything."""
        self.still()
        for sock in self._sockets:
            sock.close()

    def still(self):
        """End flood() or drain(); connections stay open."""
        self._stop.set()
        for thread in self._threads:
            thread.join(5.0)
        self._threads.clear()
        self._stop.clear()

    # --- sockets

    def _socket(self, kind=socket.SOCK_STREAM):
        sock = self.host.socket(socket.AF_INET, kind)
        sock.settimeout(10.0 * slow())
        self._sockets.append(sock)
        return sock

    def _connect(self, port):
        sock = self._socket()
        sock.connect((self.address, port))
        return sock

    def _connect_patiently(self, port):
        """As the Windows tool does: 100 tries, 100 ms apart."""
        for _ in range(100):
            try:
                return self._connect(port)
            except ConnectionRefusedError:
                time.sleep(0.1)
        raise AssertionError(f"nobody listens on port {port}")

    def _listen(self, port):
        sock = self._socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((self.address, port))
        sock.listen(1024)
        return sock

    def _accept(self, listener):
        sock, _ = listener.accept()
        sock.settimeout(10.0 * slow())
        self._sockets.append(sock)
        return sock

    # --- words

    def say(self, *words):
        """Words (numbers, or bytes as they are) in one piece."""
        raw = b"".join(w if isinstance(w, bytes) else struct.pack(">i", w) for w in words)
        self.link.sendall(raw)
        self.sync += [f"{self.me} {raw[i:i + 4].hex()}" for i in range(0, len(raw), 4)]

    def hear(self):
        """The next word, or FIN, or RST; at the end this side hangs up too."""
        raw = b""
        try:
            while len(raw) < 4:
                piece = self.link.recv(4 - len(raw))
                if not piece:
                    break
                raw += piece
        except ConnectionError:
            self.sync.append(f"{self.other} {RST}")
            self.link.close()
            return RST
        assert len(raw) in (0, 4), f"a fragment of a word: {raw.hex()}"
        self.sync.append(f"{self.other} {raw.hex() if raw else FIN}")
        if raw:
            return struct.unpack(">i", raw)[0]
        self.link.close()
        return FIN

    def ask(self, word):
        self.say(word)
        return self.hear()

    def hang_up(self):
        """End the sync connection from here."""
        self.link.close()
        self.sync.append(f"{self.me} {FIN}")

    def is_silent(self, seconds=0.3):
        """Nothing comes on the sync connection for so long (a time that only bounds a proof)."""
        self.link.settimeout(seconds)
        try:
            self.link.recv(1, socket.MSG_PEEK)
            return False
        except TimeoutError:
            return True
        finally:
            self.link.settimeout(10.0 * slow())

    # --- data

    def _spawn(self, body):
        thread = threading.Thread(target=body, daemon=True)
        self._threads.append(thread)
        thread.start()

    def drain(self):
        """Read all data in the background."""
        self.bytes = [0] * len(self.data)
        self._spawn(self._drain)

    def _drain(self):
        with selectors.DefaultSelector() as ready:
            for i, sock in enumerate(self.data):
                ready.register(sock, selectors.EVENT_READ, i)
            while not self._stop.is_set() and ready.get_map():
                for key, _ in ready.select(0.05):
                    if not self._take(key.data, key.fileobj):
                        ready.unregister(key.fileobj)

    def _take(self, i, sock):
        try:
            got = sock.recv(1 << 18)
        except OSError:
            self.ended[i] = RST
            return False
        if not got and not self.udp:
            self.ended[i] = FIN
            return False
        self.bytes[i] += len(got)
        if self.udp:
            self.sizes.add(len(got))
        self.fill.update(got.translate(None, bytes(self.fill)))  # what is new: a set of all would be slow
        return True

    def flood(self, size=65536, fill=b"A"):
        """Send on all data sockets in the background, gently."""
        self.bytes = [0] * len(self.data)
        self._spawn(lambda: self._flood(fill * size))

    def _flood(self, block):
        open_ = dict(enumerate(self.data))
        for sock in self.data:
            sock.settimeout(0.05)
        while not self._stop.is_set() and open_:
            for i, sock in list(open_.items()):
                try:
                    self.bytes[i] += sock.send(block)
                except (TimeoutError, ConnectionRefusedError):
                    continue
                except OSError:
                    del open_[i]
            self._stop.wait(0.001)

    def wait_bytes(self, least=1):
        """Until each data socket has passed that many bytes."""
        poll(f"{least} bytes on each of {len(self.data)} sockets",
             lambda: self.bytes and min(self.bytes) >= least, 10.0 * slow())

    def wait_ended(self, within=10.0):
        """Until each data connection has ended; returns how."""
        poll("end of all data connections", lambda: len(self.ended) == len(self.data),
             within * slow())
        return set(self.ended.values())


class Sender(Peer):
    """A sender's data; without more it is one that synchronises with nobody."""

    def connect(self, conns=1, first=0):
        """So many connections to each port."""
        for port in range(self.base + first, self.base + first + self.ports):
            for _ in range(conns):
                if self.udp:
                    sock = self._socket(socket.SOCK_DGRAM)
                    sock.connect((self.address, port))
                    self.data.append(sock)
                else:
                    self.data.append(self._connect(port))


class LinuxSender(Sender):
    """Its sync connection is opened at once."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.link = self._connect(self.base - 1)


class WindowsSender(Sender):
    """A byte each way beside each data port."""

    def ask_port(self):
        """-sp: what the receiver tells on the base port, and how it ends."""
        sock = self._connect(self.base)
        raw = b""
        while len(raw) < 8:
            piece = sock.recv(8)
            if not piece:
                return raw
            raw += piece
        return raw

    def tokens(self, first=0):
        """The handshake of all threads, one after the other; returns what came, and how each ended."""
        links = [self._connect_patiently(self.base + first + i + TOKENS) for i in range(self.ports)]
        for link in links:
            link.sendall(b"X")
        got = [link.recv(16) for link in links]
        after = [link.recv(16) for link in links]
        for link in links:
            link.close()
        return got, after


class Receiver(Peer):
    """Listens for data; without more it is one that synchronises with nobody."""

    me, other = "r", "s"

    def __init__(self, host, base, ports=1, udp=False, address="127.0.0.1", first=0):
        super().__init__(host, base, ports, udp, address)
        self.listeners = []
        for port in range(base + first, base + first + ports):
            if udp:
                sock = self._socket(socket.SOCK_DGRAM)
                sock.bind((address, port))
                self.data.append(sock)
            else:
                self.listeners.append(self._listen(port))

    def take(self, conns=1):
        """So many connections on each port; of datagrams there are none to take."""
        for listener in self.listeners:
            for _ in range(conns):
                self.data.append(self._accept(listener))

    def is_quiet(self, seconds=0.3):
        """No further connection comes to any port."""
        until = time.monotonic() + seconds
        for listener in self.listeners:
            listener.settimeout(max(until - time.monotonic(), 0.01))
            try:
                listener.accept()[0].close()
                return False
            except TimeoutError:
                continue
        return True


class LinuxReceiver(Receiver):
    """Listens on its sync port too."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._door = self._listen(self.base - 1)

    def answer(self):
        """Accept the sync connection."""
        self.link = self._accept(self._door)


class WindowsReceiver(Receiver):
    """One connection on each port; listens for tokens only when it has all of them."""

    def tell_ports(self):
        """-sp: base+1, base+2, ... to who asks, from the base port."""
        door = self._listen(self.base)
        for i in range(self.ports):
            with self._accept(door) as sock:
                sock.sendall(struct.pack("<I", self.base + 1 + i))
        door.close()

    def tokens(self, first=0):
        """The handshake; returns the bytes that came."""
        doors = [self._listen(self.base + first + i + TOKENS) for i in range(self.ports)]
        links = [self._accept(door) for door in doors]
        for link in links:
            link.sendall(b"X")
        got = [link.recv(1) for link in links]
        for sock in links + doors:
            sock.close()
        return got
