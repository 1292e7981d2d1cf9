# SPDX-License-Identifier: MIT
"""Hosts, cables and accidents for tests, made of network namespaces.

    with Lab() as net:                          # two hosts, a and b, one cable
        server = net.b.spawn(["iperf3", "-s", "-1"])
        server.wait_line("listening", 5)
        net.b.rate("20mbit")
        print(net.a.run(["iperf3", "-c", net.b.ip4]).stdout)

Nothing outside the namespaces is changed. Whatever was made is removed when the lab closes;
a janitor process does it when this process was killed.
"""
import atexit
import codecs
import collections
import ctypes
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from contextlib import contextmanager
from pathlib import Path

from . import janitor

KIT = Path(__file__).resolve().parent
ROOT = KIT.parent.parent
CLONE_NEWNET = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)
_open_labs = []


class Unavailable(unittest.SkipTest):
    """This machine cannot do it; pytest turns it into a skip with the reason."""


class Timeout(AssertionError):
    """A deadline has passed."""


def slow():
    """How much longer things may take: 1, or more for a sanitizer build."""
    name = os.environ.get("NETDYNO_SAN", "").strip("-")
    return {"address": 3, "asan": 3, "thread": 8, "tsan": 8}.get(name, 1)


def poll(what, ready, timeout=5.0, step=0.01):
    """Call ready() until it is true and return what it said; Timeout names `what`."""
    deadline = time.monotonic() + timeout
    while True:
        value = ready()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Timeout(f"{what}: not within {timeout:g} s")
        time.sleep(step)


def need(*programs):
    """Skip the test unless these programs are installed."""
    for program in programs:
        if not shutil.which(program):
            raise Unavailable(f"{program} is not installed")


def why_not():
    """Why no lab can be made here, None when it can."""
    for program in ("ip", "tc", "ethtool"):
        if not shutil.which(program):
            return f"{program} is not installed"
    if os.geteuid() != 0:
        return "needs root or unprivileged user namespaces"
    done = subprocess.run(["unshare", "-nm", "true"], stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, timeout=20)
    if done.returncode != 0:
        return "network namespaces are not permitted: " + done.stderr.decode().strip()
    return None


def unshared_command(command):
    """The command line that runs `command` as root of its own user, mount and network
    namespace, None when this machine does not allow that."""
    inside = 'mount -t tmpfs tmpfs /run && ip link set lo up && exec "$@"'
    prefix = ["unshare", "-rnm", "sh", "-c", inside, "sh"]
    try:
        done = subprocess.run(prefix + ["true"], stdin=subprocess.DEVNULL, check=False,
                              capture_output=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return prefix + list(command) if done.returncode == 0 else None


@contextmanager
def init_lock(timeout=20.0):
    """Held by whoever changes, or compares, a setting of the initial namespace."""
    fd = os.open("/run", os.O_RDONLY | os.O_DIRECTORY)

    def taken():
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    try:
        poll("lock on /run", taken, timeout)
        yield
    finally:
        os.close(fd)


def _sysctl_path(name):
    return "/proc/sys/" + name.replace(".", "/")


def _read(path):
    with open(path, encoding="ascii") as f:
        return f.read().strip()


def _write(path, value):
    with open(path, "w", encoding="ascii") as f:
        f.write(f"{value}\n")


class _Janitor:
    """The process that cleans up after this one; started with the first lab."""

    def __init__(self):
        self.proc = None

    def tell(self, line):
        if self.proc is None or self.proc.poll() is not None:
            # Its own session: a Ctrl-C for the tests must not reach it.
            self.proc = subprocess.Popen(
                [sys.executable, "-S", "-E", str(KIT / "janitor.py")], cwd="/",
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True)
        self.proc.stdin.write(line.encode() + b"\n")
        self.proc.stdin.flush()


_janitor = _Janitor()


class Proc:
    """A program running in a host, its output read as it comes."""

    def __init__(self, host, argv, env=None, cwd=None, stdin=subprocess.DEVNULL, pass_fds=()):
        self.host = host
        self.argv = [str(a) for a in argv]
        self._text = {"stdout": "", "stderr": ""}
        self._open = {"stdout", "stderr"}
        self._changed = threading.Condition()
        self.popen = subprocess.Popen(
            host.argv(self.argv), env={**os.environ, **(env or {})}, cwd=cwd, stdin=stdin,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=pass_fds)
        host.procs.append(self)
        self.stdin = self.popen.stdin
        self._pumps = [threading.Thread(target=self._pump, args=(n, f), daemon=True)
                       for n, f in (("stdout", self.popen.stdout), ("stderr", self.popen.stderr))]
        for pump in self._pumps:
            pump.start()

    @property
    def pid(self):
        """The program's own pid: entering the namespace is followed by exec, not fork."""
        return self.popen.pid

    @property
    def returncode(self):
        return self.popen.poll()

    @property
    def stdout(self):
        with self._changed:
            return self._text["stdout"]

    @property
    def stderr(self):
        with self._changed:
            return self._text["stderr"]

    def _pump(self, name, stream):
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        while True:
            try:
                data = os.read(stream.fileno(), 65536)
            except (OSError, ValueError):
                data = b""
            with self._changed:
                self._text[name] += decode(data, final=not data)
                if not data:
                    self._open.discard(name)
                self._changed.notify_all()
            if not data:
                return

    def _match(self, regex, streams):
        for name in streams:
            text = self._text[name]
            # A line still being written may yet become another one.
            whole = text if name not in self._open else text[:text.rfind("\n") + 1]
            for line in whole.splitlines():
                found = re.search(regex, line)
                if found:
                    return found
        return None

    def wait_line(self, regex, timeout=10.0, stream=None):
        """Wait for a line in which regex is found, on both streams or the named one, written
        before or after this call; returns the match. Fails at once when the output ends."""
        streams = [stream] if stream else ["stdout", "stderr"]
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                ended = not self._open.intersection(streams)
                found = self._match(regex, streams)
                if found:
                    return found
                left = deadline - time.monotonic()
                if ended or left <= 0:
                    break
                self._changed.wait(left)
        why = "its output ended" if ended else f"not within {timeout:g} s"
        raise Timeout(f"no line like {regex!r}: {why}\n{self.describe()}")

    def send_signal(self, sig):
        self.popen.send_signal(sig)

    def wait(self, timeout=10.0):
        """Wait for the end; returns the exit code (negative: signal)."""
        try:
            code = self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Timeout(f"still running after {timeout:g} s\n{self.describe()}") from None
        for pump in self._pumps:
            pump.join(2.0)
        return code

    def stop(self, sig=signal.SIGTERM, timeout=5.0):
        """Ask it to end and wait; returns the exit code."""
        if self.popen.poll() is None:
            self.popen.send_signal(sig)
        return self.wait(timeout)

    def kill(self):
        """End it now, whatever it does; also fine when it has ended."""
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.wait(10)

    def describe(self, lines=40):
        """Command, state and the last lines of output, for messages."""
        out = [f"[{self.host.name}] {' '.join(self.argv)} (pid {self.pid}, "
               f"exit {self.returncode})"]
        for name in ("stdout", "stderr"):
            with self._changed:
                tail = self._text[name].splitlines()[-lines:]
            out += [f"  {name}: {line}" for line in tail]
        return "\n".join(out)

    def close(self):
        """Kill and release the pipes (used by the lab)."""
        self.kill()
        for pump in self._pumps:
            pump.join(0.5)
        for stream, pump in zip((self.popen.stdout, self.popen.stderr), self._pumps):
            # A pump that still reads has a grandchild at the other end; its pipe stays open.
            if not pump.is_alive():
                stream.close()
        if self.stdin:
            try:
                self.stdin.close()
            except BrokenPipeError:
                pass


class Rule:
    """A packet filter rule in a host, with exact counters."""

    def __init__(self, host, where, match, verdicts):
        hook, priority = {"in": ("input", 0), "out": ("output", 0), "forward": ("forward", 0),
                          "fragments": ("prerouting", -450)}[where]
        self.host = host
        self.table = f"kit{host.lab.next_number()}"
        rules = "\n".join(f"    {match} {v}" for v in verdicts)
        script = (f"table inet {self.table} {{\n  counter dropped {{ }}\n  counter passed {{ }}\n"
                  f"  chain c {{\n    type filter hook {hook} priority {priority}; policy accept;\n"
                  f"{rules}\n  }}\n}}\n")
        need("nft")
        done = host.run(["nft", "-f", "-"], input=script)
        if done.returncode != 0:
            raise RuntimeError(f"nft refused:\n{script}{done.stderr}")

    def counts(self):
        """(dropped, passed) packets, read together."""
        done = self.host.run(["nft", "-j", "list", "table", "inet", self.table], check=True)
        count = {item["counter"]["name"]: item["counter"]["packets"]
                 for item in json.loads(done.stdout)["nftables"] if "counter" in item}
        return count["dropped"], count["passed"]

    @property
    def dropped(self):
        return self.counts()[0]

    @property
    def passed(self):
        return self.counts()[1]

    def remove(self):
        self.host.run(["nft", "delete", "table", "inet", self.table], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


def _match(dev, where, proto, dport, sport, min_payload, max_payload, family):
    parts = []
    if dev:
        parts.append(f'{"oifname" if where == "out" else "iifname"} "{dev}"')
    if family:
        parts.append(f"meta nfproto ipv{family}")
    if proto:
        parts.append(f"meta l4proto {proto}")
    elif dport or sport:
        parts.append("meta l4proto { tcp, udp }")
    if dport:
        parts.append(f"th dport {dport}")
    if sport:
        parts.append(f"th sport {sport}")
    if (min_payload is not None or max_payload is not None) and proto != "udp":
        raise ValueError("payload limits need proto='udp'")
    if min_payload is not None:
        parts.append(f"udp length >= {min_payload + 8}")
    if max_payload is not None:
        parts.append(f"udp length <= {max_payload + 8}")
    return " ".join(parts)


def _bits_per_second(rate):
    if isinstance(rate, (int, float)):
        return int(rate)
    found = re.fullmatch(r"([0-9.]+)\s*([kmg]?)bit", rate.lower())
    if not found:
        raise ValueError(f"rate {rate!r}: a number of bit/s, or like '20mbit'")
    return int(float(found[1]) * {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}[found[2]])


class Host:
    """A namespace with its interfaces e0, e1, ... and addresses."""

    def __init__(self, lab, name):
        self.lab = lab
        self.name = name
        self.procs = []
        self.devs = []
        self.addrs4 = []
        self.addrs6 = []
        self._routes = []
        self._ports = set()
        self.congestion_control = None
        while True:
            self.ns = f"ndt-{os.getpid()}-{_next_ns()}-{name}"
            _janitor.tell(f"ns {self.ns}")
            done = subprocess.run(["ip", "netns", "add", self.ns], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, check=False, timeout=30)
            if done.returncode == 0:
                break
            # Somebody else's: neither ours to use nor to remove.
            _janitor.tell(f"forget {self.ns}")
            if "File exists" not in done.stderr:
                raise Unavailable(f"ip netns add: {done.stderr.strip()}")
        self._fd = os.open(f"{janitor.NETNS}/{self.ns}", os.O_RDONLY | os.O_CLOEXEC)
        # Addresses are usable at once and survive a cut cable; no router is asked for.
        for key, value in (("accept_dad", 0), ("accept_ra", 0), ("router_solicitations", 0),
                           ("keep_addr_on_down", 1)):
            for which in ("all", "default"):
                self.sysctl(f"net.ipv6.conf.{which}.{key}", value)
        self.ip("link set lo up")

    def __repr__(self):
        return f"<Host {self.name} {self.ns}>"

    # --- addresses and interfaces

    @property
    def ip4(self):
        """First IPv4 address."""
        return self.addrs4[0]

    @property
    def ip6(self):
        """First IPv6 address."""
        return self.addrs6[0]

    @property
    def dev(self):
        """First interface."""
        return self.devs[0]

    def ip(self, *lines):
        """Run lines of ip(8) commands in this host."""
        done = subprocess.run(["ip", "-n", self.ns, "-batch", "-"], text=True, check=False,
                              input="\n".join(lines) + "\n", capture_output=True, timeout=30)
        if done.returncode != 0:
            raise RuntimeError(f"ip in {self.name}: {lines}: {done.stderr.strip()}")

    def add_addr(self, addr, dev=None):
        """Add "192.168.1.4/24" or "fd00:1::4/64" and return the address alone."""
        plain = addr.split("/")[0]
        six = ":" in plain
        self.ip(f"addr add {addr} dev {dev or self.dev}" + (" nodad" if six else ""))
        (self.addrs6 if six else self.addrs4).append(plain)
        return plain

    def add_route(self, route):
        """Add a route ("10.9.0.0/16 via 10.77.1.2"), put back after a cut."""
        self.ip(f"route replace {route}")
        self._routes.append(route)

    def mtu(self, size, dev=None):
        self.ip(f"link set {dev or self.dev} mtu {size}")

    def offloads(self, on, dev=None):
        """Segmentation offloads; off means the counters see what a real cable would."""
        state = "on" if on else "off"
        self.run(["ethtool", "-K", dev or self.dev, "tso", state, "gso", state, "gro", state,
                  "tx-udp-segmentation", state], check=True)

    def down(self, dev=None):
        """Pull the plug: both ends lose their carrier. For packets that vanish without any
        sign use drop() without arguments at both ends."""
        self.ip(f"link set {dev or self.dev} down")

    def up(self, dev=None):
        """Put the plug back, routes included."""
        self.ip(f"link set {dev or self.dev} up", *[f"route replace {r}" for r in self._routes])

    # --- being inside

    def argv(self, argv):
        """The command line that runs argv in this host (without a fork in between)."""
        return ["ip", "netns", "exec", self.ns] + [str(a) for a in argv]

    def call(self, function, *args, **kwargs):
        """Run a Python function inside this host, in a thread of this process; sockets it
        makes stay in the host."""
        box = {}

        def body():
            try:
                if _libc.setns(self._fd, CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), f"entering {self.ns}")
                box["value"] = function(*args, **kwargs)
            except BaseException as e:  # handed to the caller below
                box["error"] = e

        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        thread.join()
        if "error" in box:
            raise box["error"]
        return box["value"]

    def socket(self, family=socket.AF_INET, kind=socket.SOCK_STREAM, proto=0):
        """A socket of this host, for use anywhere in this process."""
        return self.call(socket.socket, family, kind, proto)

    def run(self, argv, timeout=None, check=False, input=None, env=None, cwd=None):
        """Run a program to its end; returns CompletedProcess with text. Default limit 30 s,
        longer for sanitizer builds. Timeout carries the output so far."""
        timeout = 30.0 * slow() if timeout is None else timeout
        given = {"input": input} if input is not None else {"stdin": subprocess.DEVNULL}
        try:
            done = subprocess.run(
                self.argv(argv), env={**os.environ, **(env or {})}, cwd=cwd, timeout=timeout,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                check=False, **given)
        except subprocess.TimeoutExpired as e:
            said = b"".join(x if isinstance(x, bytes) else x.encode()
                            for x in (e.stdout, e.stderr) if x)
            raise Timeout(f"[{self.name}] {' '.join(map(str, argv))}: not within {timeout:g} s\n"
                          + said.decode(errors="replace")) from None
        if check and done.returncode != 0:
            raise AssertionError(f"[{self.name}] {' '.join(map(str, argv))}: exit "
                                 f"{done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def spawn(self, argv, env=None, cwd=None, stdin=subprocess.DEVNULL, pass_fds=()):
        """Start a program; it is killed when the lab closes, if it still runs."""
        return Proc(self, argv, env=env, cwd=cwd, stdin=stdin, pass_fds=pass_fds)

    # --- ports

    def free_port(self):
        """A port that is free for TCP and UDP, IPv4 and IPv6, given out once."""
        def pick():
            for _ in range(200):
                with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as t, \
                        socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as u:
                    try:
                        t.bind(("::", 0))
                        port = t.getsockname()[1]
                        u.bind(("::", port))
                    except OSError:
                        continue
                    if port not in self._ports:
                        self._ports.add(port)
                        return port
            raise RuntimeError(f"no free port in {self.name}")
        return self.call(pick)

    def listening(self, port, proto="tcp"):
        """Whether a socket waits on this port; asks the kernel and disturbs nobody."""
        state = {"tcp": "0A", "udp": "07"}[proto]

        def look():
            for name in (proto, proto + "6"):
                for line in _read(f"/proc/thread-self/net/{name}").splitlines()[1:]:
                    field = line.split()
                    if field[3] == state and int(field[1].rsplit(":", 1)[1], 16) == port:
                        return True
            return False
        return self.call(look)

    # --- what the kernel counted

    def counters(self, dev=None):
        """Interface counters: rx_bytes, rx_packets, rx_errs, rx_drop, tx_..."""
        keys = [f"{way}_{what}" for way, whats in (
            ("rx", "bytes packets errs drop fifo frame compressed multicast"),
            ("tx", "bytes packets errs drop fifo colls carrier compressed"))
            for what in whats.split()]
        dev = dev or self.dev
        for line in self.call(_read, "/proc/thread-self/net/dev").splitlines():
            name, _, rest = line.partition(":")
            if name.strip() == dev and rest:
                return dict(zip(keys, map(int, rest.split())))
        raise KeyError(dev)

    def snmp(self):
        """Protocol counters by name: "Udp.InDatagrams", "TcpExt.TCPTimeouts",
        "Udp6InDatagrams"."""
        def read():
            values = {}
            for name in ("snmp", "netstat"):
                lines = _read(f"/proc/thread-self/net/{name}").splitlines()
                for keys, numbers in zip(lines[::2], lines[1::2]):
                    group, _, rest = keys.partition(":")
                    for key, number in zip(rest.split(), numbers.partition(":")[2].split()):
                        values[f"{group}.{key}"] = int(number)
            for line in _read("/proc/thread-self/net/snmp6").splitlines():
                key, number = line.split()
                values[key] = int(number)
            return values
        return self.call(read)

    def sysctl(self, name, value=None):
        """Read a net.* setting of this host, or set it here and nowhere else."""
        if not name.startswith("net."):
            raise ValueError(f"{name}: only net.* belongs to a namespace")
        path = _sysctl_path(name)
        if value is None:
            return self.call(_read, path)
        try:
            before = _read(path)
        except OSError:
            before = None
        try:
            self.call(_write, path, value)
        except FileNotFoundError:
            raise Unavailable(f"{name}: not a setting of a namespace on this kernel") from None
        if before is not None and _read(path) != before:
            _write(path, before)
            raise Unavailable(f"{name}: one value for the whole machine; put back")
        return self.call(_read, path)

    def use_congestion_control(self, name):
        """Make `name` the default of this host if the machine lets us; returns what it is.

        A namespace may choose only what the initial one allows to everybody. Where that list
        lacks the name, it is added for the moment of choosing and put back as found.
        """
        key = "net.ipv4.tcp_congestion_control"
        allowed = _sysctl_path("net.ipv4.tcp_allowed_congestion_control")
        try:
            if self.sysctl(key) != name:
                with init_lock():
                    found = _read(allowed)
                    try:
                        if name not in found.split():
                            _write(allowed, f"{found} {name}")
                        self.sysctl(key, name)
                    finally:
                        if _read(allowed) != found:
                            _write(allowed, found)
        except OSError:
            pass  # not ours to choose; the caller sees the name that holds
        self.congestion_control = self.sysctl(key)
        return self.congestion_control

    # --- accidents

    def rate(self, rate, dev=None, queue_ms=50, burst=None):
        """Limit what leaves an interface ("20mbit" or bit/s, counted with Ethernet header);
        None lifts the limit."""
        dev = dev or self.dev
        if rate is None:
            self.run(["tc", "qdisc", "del", "dev", dev, "root"], check=True)
            return
        bits = _bits_per_second(rate)
        mtu = int(self.run(["cat", f"/sys/class/net/{dev}/mtu"], check=True).stdout)
        burst = burst or max(bits // 8 // 200, 3 * (mtu + 14), 4096)
        self.run(["tc", "qdisc", "replace", "dev", dev, "root", "tbf", "rate", f"{bits}bit",
                  "burst", f"{burst}b", "latency", f"{queue_ms}ms"], check=True)

    def qdisc(self, dev=None):
        """Statistics of the root qdisc as tc prints them: kind, bytes, packets, drops, ..."""
        done = self.run(["tc", "-s", "-j", "qdisc", "show", "dev", dev or self.dev, "root"],
                        check=True)
        return json.loads(done.stdout)[0]

    def loss(self, percent=None, every=None, where="in", dev=None, proto="udp", dport=None,
             sport=None, min_payload=None, max_payload=None, family=None):
        """Lose matching packets: `percent` of them at random, or exactly every Nth.

        where: "in" (arriving here, the default), "out" (the sender then sees EPERM), "forward"
        (on a router). min_payload and max_payload are UDP payload sizes, so that small control
        datagrams can be spared. Neither percent nor every: only count (.passed).
        """
        if percent is not None and every is not None:
            raise ValueError("percent or every, not both")
        verdicts = ["counter name passed accept"]
        if percent is not None and not 0 <= percent <= 100:
            raise ValueError(f"percent {percent}: 0 to 100")
        ppm = round((percent or 0) * 10000)
        if ppm == 1000000:
            verdicts.insert(0, "counter name dropped drop")
        elif ppm:
            verdicts.insert(0, f"numgen random mod 1000000 < {ppm} counter name dropped drop")
        elif every:
            verdicts.insert(0, f"numgen inc mod {every} == {every - 1} "
                               "counter name dropped drop")
        return Rule(self, where, _match(dev, where, proto, dport, sport, min_payload,
                                        max_payload, family), verdicts)

    def lose_fragments(self, every, family="ip"):
        """Lose every Nth IP fragment that arrives here, first ones of their packets spared."""
        behind = "ip frag-off & 0x1fff != 0" if family == "ip" else "frag frag-off != 0"
        return Rule(self, "fragments", behind, [
            f"numgen inc mod {every} == {every - 1} counter name dropped drop",
            "counter name passed accept"])

    def drop(self, proto=None, dport=None, sport=None, where="in", dev=None, family=None):
        """Let matching packets vanish; without arguments, everything that arrives."""
        return Rule(self, where, _match(dev, where, proto, dport, sport, None, None, family),
                    ["counter name dropped drop"])

    def reject(self, proto="tcp", dport=None, where="in", family=None):
        """Refuse matching packets as a firewall with manners does (reset, ICMP)."""
        how = "reject with tcp reset" if proto == "tcp" else "reject"
        return Rule(self, where, _match(None, where, proto, dport, None, None, None, family),
                    [f"counter name dropped {how}"])

    # --- end

    def close(self):
        try:
            for proc in self.procs:
                proc.close()
        finally:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1
            if janitor.remove_ns(self.ns):
                _janitor.tell(f"forget {self.ns}")


_ns_count = 0


def _next_ns():
    global _ns_count
    _ns_count += 1
    return _ns_count


def wait_port(host, port, timeout=10.0, proto="tcp"):
    """Wait until something listens on a port of a host."""
    poll(f"{proto} port {port} of {host.name}", lambda: host.listening(port, proto), timeout)


Delay = collections.namedtuple("Delay", "direction in_ns out_ns bytes fate")
Delay.__doc__ = "One frame that a relay saw; direction is the name of the host it came from."
Delay.ns = property(lambda d: d.out_ns - d.in_ns, doc="True delay in ns (delivered frames).")


def why_no_tap():
    """Why no relay can be made here, None when it can."""
    try:
        os.close(os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC))
    except OSError as e:
        return f"/dev/net/tun: {e.strerror}"
    if not (shutil.which("cc") or os.environ.get("CC")):
        return "no C compiler"
    return None


_own_build = None


def _build_folder():
    """build/kit, or where that cannot be written to, a folder of this process."""
    global _own_build
    shared = ROOT / "build" / "kit"
    try:
        shared.mkdir(parents=True, exist_ok=True)
        if os.access(shared, os.W_OK):
            return shared
    except OSError:
        pass
    if _own_build is None:
        _own_build = Path(tempfile.mkdtemp(prefix="ndt-"))
        _janitor.tell(f"dir {_own_build}")
    return _own_build


def _relay_program():
    """Path of the relay, compiled when missing or older than its source."""
    source = KIT / "tap_relay.c"
    folder = _build_folder()
    program = folder / "tap_relay"
    if program.exists() and program.stat().st_mtime >= source.stat().st_mtime:
        return program
    fd, aside = tempfile.mkstemp(dir=folder)
    os.close(fd)
    try:
        done = subprocess.run(
            [*os.environ.get("CC", "cc").split(), "-std=gnu11", "-O2", "-Wall", "-Wextra",
             "-o", aside, str(source)], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise RuntimeError(f"compiling {source.name}:\n{done.stderr}")
        os.chmod(aside, 0o755)
        os.replace(aside, program)  # two test runs at once: either result is good
        return program
    finally:
        if os.path.exists(aside):
            os.unlink(aside)


class Relay:
    """A long cable between two hosts: every frame takes delay_ms each way (or back_ms from
    the second host to the first), loses loss_percent of its packets."""

    def __init__(self, a, b, dev_a, dev_b, delay_ms, back_ms=None, loss_percent=0.0, seed=1):
        reason = why_no_tap()
        if reason:
            raise Unavailable(reason)
        program = _relay_program()
        self.names = {"A": a.name, "B": b.name}
        self.log = a.lab.dir / f"relay{a.lab.next_number()}"
        back_ms = delay_ms if back_ms is None else back_ms
        self._logs = 0
        fds = []
        try:
            for host, dev in ((a, dev_a), (b, dev_b)):
                fds.append(host.call(self._tap, dev))
            # Run inside a, so that emptying that namespace ends it; the TAPs end with it.
            self.proc = a.spawn(
                [program, *fds, round(delay_ms * 1e6), round(back_ms * 1e6),
                 round(loss_percent * 10000), seed, self.log], pass_fds=fds)
        finally:
            for fd in fds:
                os.close(fd)
        self.proc.wait_line("^ready$", 10, "stdout")

    @staticmethod
    def _tap(dev):
        tunsetiff, iff_tap, iff_no_pi = 0x400454ca, 0x0002, 0x1000
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.ioctl(fd, tunsetiff, struct.pack("16sH22x", dev.encode(), iff_tap | iff_no_pi))
        except OSError as e:
            os.close(fd)
            raise Unavailable(f"making a TAP device: {e.strerror}") from None
        return fd

    def frames(self):
        """Every frame seen so far, whatever became of it. Writing the log holds the relay up
        for a moment: ask after the part that is measured."""
        if self.proc.returncode is None:
            self._logs += 1
            self.proc.send_signal(signal.SIGUSR1)
            poll("log of the relay",
                 lambda: len(re.findall(r"^log \d+$", self.proc.stdout, re.M)) >= self._logs
                 or self.proc.returncode is not None, 20.0)
        frames = []
        with open(self.log, encoding="ascii") as f:
            for line in f:
                way, in_ns, out_ns, size, fate = line.split()
                frames.append(Delay(self.names[way], int(in_ns), int(out_ns), int(size), fate))
        return frames

    def delays(self, source=None, bytes=None):
        """Delivered frames with their true delay (.ns), in the order they came; from one host
        or of one frame size (with Ethernet header) only."""
        return [d for d in self.frames() if d.fate == "d" and source in (None, d.direction)
                and bytes in (None, d.bytes)]

    def lost(self, source=None):
        """How many frames the cable lost: as asked, and by overrun of its queue; not those
        that found the other interface down."""
        return sum(1 for d in self.frames() if d.fate in "lo" and source in (None, d.direction))

    def stop(self):
        """End the relay (and with it the cable); frames() and delays() still answer."""
        return self.proc.stop()


class Lab:
    """Two hosts a - b, or three a - r - b with r forwarding, proven to reach each other.

    delay_ms joins a and b by a Relay (net.relay) instead of a direct cable; loss_percent and
    seed are the relay's.
    """

    def __init__(self, hosts=2, mtu=1500, offloads=False, congestion="cubic", delay_ms=None,
                 back_ms=None, loss_percent=0.0, seed=1):
        if hosts not in (2, 3):
            raise ValueError("two hosts or three")
        if delay_ms is not None and hosts != 2:
            raise ValueError("delay_ms joins two hosts; use Lab.join_by_relay for more")
        self._options = (hosts, mtu, offloads, congestion, delay_ms, back_ms, loss_percent, seed)
        self.hosts = []
        self.a = self.b = self.r = self.relay = None
        self.dir = None
        self._number = 0
        self._subnet = 0
        self._closed = False

    def next_number(self):
        self._number += 1
        return self._number

    def __enter__(self):
        reason = why_not()
        if reason:
            raise Unavailable(reason)
        _open_labs.append(self)
        try:
            self._build(*self._options)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def _build(self, hosts, mtu, offloads, congestion, delay_ms, back_ms, loss_percent, seed):
        self.dir = Path(tempfile.mkdtemp(prefix="ndt-"))
        _janitor.tell(f"dir {self.dir}")
        for name in ("a", "b") if hosts == 2 else ("a", "r", "b"):
            host = Host(self, name)
            self.hosts.append(host)
            setattr(self, name, host)
            host.congestion_control = host.sysctl("net.ipv4.tcp_congestion_control")
            if congestion:
                host.use_congestion_control(congestion)
        if delay_ms is not None:
            self.relay = self.join_by_relay(self.a, self.b, delay_ms, back_ms, loss_percent,
                                            seed, mtu, offloads)
        elif hosts == 2:
            self.join(self.a, self.b, mtu, offloads)
        else:
            self.r.sysctl("net.ipv4.ip_forward", 1)
            self.r.sysctl("net.ipv6.conf.all.forwarding", 1)
            for end in (self.a, self.b):
                first, second = (end, self.r) if end is self.a else (self.r, end)
                self.join(first, second, mtu, offloads)
                index = 0 if end is self.a else 1
                end.add_route(f"default via {self.r.addrs4[index]}")
                end.add_route(f"default via {self.r.addrs6[index]} dev {end.dev}")
        self.wait_path(self.a, self.b)

    def _address(self, first, dev_first, second, dev_second, mtu, offloads):
        self._subnet += 1
        x = self._subnet
        for n, (host, dev) in enumerate(((first, dev_first), (second, dev_second)), 1):
            host.devs.append(dev)
            host.ip(f"link set {dev} mtu {mtu} txqueuelen 10000", f"link set {dev} up")
            if not offloads:
                host.offloads(False, dev)
            host.add_addr(f"10.77.{x}.{n}/24", dev)
            host.add_addr(f"fd00:77:{x:x}::{n}/64", dev)

    def join(self, first, second, mtu=1500, offloads=False):
        """Another direct cable between two hosts, with its own subnets."""
        dev_first, dev_second = f"e{len(first.devs)}", f"e{len(second.devs)}"
        first.ip(f"link add {dev_first} type veth peer name {dev_second} netns {second.ns}")
        self._address(first, dev_first, second, dev_second, mtu, offloads)

    def join_by_relay(self, first, second, delay_ms, back_ms=None, loss_percent=0.0, seed=1,
                      mtu=1500, offloads=False):
        """Another cable between two hosts, with a delay; returns the Relay."""
        dev_first, dev_second = f"e{len(first.devs)}", f"e{len(second.devs)}"
        relay = Relay(first, second, dev_first, dev_second, delay_ms, back_ms, loss_percent, seed)
        self._address(first, dev_first, second, dev_second, mtu, offloads)
        return relay

    def wait_path(self, first, second, timeout=10.0):
        """Wait until datagrams pass both ways over IPv4 and IPv6 (first addresses); also
        fills the neighbour tables."""
        for family, left, right in ((socket.AF_INET, first.ip4, second.ip4),
                                    (socket.AF_INET6, first.ip6, second.ip6)):
            with first.socket(family, socket.SOCK_DGRAM) as p, \
                    second.socket(family, socket.SOCK_DGRAM) as q:
                def answered(asker, target, answerer, listen):
                    try:
                        asker.sendto(b"?", target)
                        answerer.settimeout(0.1)
                        _, back = answerer.recvfrom(16)
                        return back[0] == listen
                    except OSError:
                        return False

                def bound():
                    try:
                        p.bind((left, 0))
                        q.bind((right, 0))
                    except OSError:
                        return False
                    return True

                poll(f"address {left} or {right}", bound, timeout)
                poll(f"path {left} to {right}",
                     lambda: answered(p, q.getsockname(), q, left), timeout, 0.001)
                poll(f"path {right} to {left}",
                     lambda: answered(q, p.getsockname(), p, right), timeout, 0.001)

    def describe(self):
        """What all programs said, for messages."""
        return "\n".join(p.describe() for h in self.hosts for p in h.procs)

    def close(self):
        """Kill and remove everything; what fails does not keep the rest."""
        if self._closed:
            return
        errors = []
        for host in self.hosts:
            try:
                host.close()
            except Exception as e:  # reported below, the janitor tries again
                errors.append(f"{host}: {e}")
        if self.dir:
            shutil.rmtree(self.dir, ignore_errors=True)
            _janitor.tell(f"forget {self.dir}")
        self._closed = True
        if self in _open_labs:
            _open_labs.remove(self)
        if errors:
            raise RuntimeError("closing the lab: " + "; ".join(errors))


@atexit.register
def _close_open_labs():
    for lab in list(_open_labs):
        try:
            lab.close()
        except Exception as e:
            print(e, file=sys.stderr)
