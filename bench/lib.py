# SPDX-License-Identifier: MIT
"""Network namespaces and programs in them, for comparisons of tools.

A namespace has no name: this process holds it by a descriptor, so it vanishes with the process and
cannot clash with another one. The CPU time of a program is counted from outside, in the same way
for every tool: from wait4, which has all threads and waited-for children. Soft interrupts land in
the interrupted task unless ksoftirqd takes them, so the time of ksoftirqd is added (see Meter).
"""
import atexit
import ctypes
import fcntl
import os
import re
import resource
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "bench"
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
TICK = os.sysconf("SC_CLK_TCK")

_libc = ctypes.CDLL(None, use_errno=True)
_running = []


class Skip(Exception):
    """This cannot be measured here; says why."""


class Failed(Exception):
    """A tool did not do what it was asked; says what."""


def _call(name, *args):
    if getattr(_libc, name)(*args) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root: network namespaces, raw sockets")
    if not shutil.which("ip"):
        raise Skip("ip is not installed (Debian: iproute2)")


def tidy_exit():
    """Make signals unwind, so that every program this one started ends with it."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda n, _: sys.exit(128 + n))


# ---- namespaces

class Space:
    """One network namespace."""

    def __init__(self):
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _call("unshare", CLONE_NEWNET)
            try:
                self.fd = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            finally:
                _call("setns", home, CLONE_NEWNET)
        finally:
            os.close(home)
        self.path = f"/proc/{os.getpid()}/fd/{self.fd}"
        self.ip("link", "set", "lo", "up")

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    @contextmanager
    def inside(self):
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _call("setns", self.fd, CLONE_NEWNET)
            try:
                yield
            finally:
                _call("setns", home, CLONE_NEWNET)
        finally:
            os.close(home)

    def ip(self, *args):
        with self.inside():
            done = subprocess.run(["ip", *args], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=20, check=False)
        if done.returncode != 0:
            raise Failed(f"ip {' '.join(args)}: {done.stderr.strip()}")


class Net:
    """Where the two ends stand: kind 'loopback' is one namespace, 'veth' two joined by a pair; with
    'frames' the sender's interface takes nothing longer than a frame: every datagram is one. With
    'drop' the receiver's drops, besides, what drop_datagrams() names.

    The client runs in .near, the server in .far at .address; .iface is the server's interface.
    .default_cc is what a socket of either end has that asks for nothing.
    """

    KINDS = ("loopback", "veth", "frames", "drop")

    def __init__(self, kind, cc=None):
        self.kind = kind
        self.spaces = []
        try:
            self._make()
            if cc:
                for space in self.spaces:
                    set_default_cc(space, cc)
            with self.far.inside():
                self.default_cc = _read(CC_DEFAULT)
        except BaseException:
            self.close()
            raise

    def _space(self):
        self.spaces.append(Space())
        return self.spaces[-1]

    def _make(self):
        self.near = self._space()
        if self.kind == "loopback":
            # The second address: some tools cannot resolve 127.0.0.1 where there is no other.
            self.far, self.iface, self.address = self.near, "lo", "127.0.0.1"
            self.near.ip("addr", "add", "10.77.0.2/32", "dev", "lo")
            return
        self.far, self.iface, self.address = self._space(), "veth0", "10.77.0.2"
        self.near.ip("link", "add", "veth0", "type", "veth", "peer", "name", "veth0", "netns",
                     self.far.path)
        for space, address in ((self.near, "10.77.0.1/24"), (self.far, "10.77.0.2/24")):
            space.ip("addr", "add", address, "dev", "veth0")
            space.ip("link", "set", "veth0", "up")
        if self.kind in ("frames", "drop"):
            self._no_offload()

    def _no_offload(self):
        if not shutil.which("ethtool"):
            raise Skip("ethtool is not installed (Debian: ethtool)")
        for what in ("tso", "gso", "tx-udp-segmentation"):
            with self.near.inside():
                done = subprocess.run(["ethtool", "-K", "veth0", what, "off"], capture_output=True,
                                      stdin=subprocess.DEVNULL, text=True, timeout=20, check=False)
            if done.returncode != 0:
                raise Failed(f"ethtool -K veth0 {what} off: {done.stderr.strip()}")

    def drop_datagrams(self, size):
        """Datagrams with so many bytes end at the receiver's interface, before its IP."""
        if not shutil.which("nft"):
            raise Skip("nft is not installed (Debian: nftables)")
        rules = ("table netdev early {\nchain ends {\n"
                 f"type filter hook ingress device {self.iface} priority 0\n"
                 f"udp length {size + 8} drop\n}}\n}}\n")
        with self.far.inside():
            done = subprocess.run(["nft", "-f", "-"], input=rules, capture_output=True, text=True,
                                  timeout=20, check=False)
        if done.returncode != 0:
            raise Skip(f"nft: {done.stderr.strip()[:200]}")

    def sent(self):
        """Frames that the sender's interface has sent so far."""
        with self.near.inside():
            device = next(line for line in _lines("dev") if line.strip().startswith(self.iface))
        return int(device.partition(":")[2].split()[9])

    def many_ports(self):
        """Room for as many connections from one address to another as port numbers allow, and
        some below for those who listen."""
        with self.near.inside():
            _write(PORT_RANGE, "16384 65535")

    def free_ports(self, first, count=1):
        """The first of `count` ports in a row at the server's end, at `first` or as soon behind
        it as nobody has them, that the kernel gives to no connection by itself."""
        with self.far.inside():
            low, high = map(int, _read(PORT_RANGE).split())
            while first + count <= 65536:
                if first + count <= low or first > high:
                    taken = [p for p in range(first, first + count) if not _is_free(p)]
                    if not taken:
                        return first
                    first = taken[-1] + 1
                else:
                    first = high + 1
        raise Failed(f"no {count} ports are free outside {low}..{high}")

    def counters(self):
        """What the receiving end's kernel has counted so far."""
        with self.far.inside():
            udp = [line.split()[1:] for line in _lines("snmp") if line.startswith("Udp:")]
            udp = dict(zip(udp[0], map(int, udp[1])))
            device = next(line for line in _lines("dev") if line.strip().startswith(self.iface))
            # what was accepted by a listener of both families counts as IPv6
            tcp = sum(int(line.split()[2]) for name in ("sockstat", "sockstat6")
                      for line in _lines(name) if re.match(r"TCP6?:", line))
        return {"ns": time.monotonic_ns(), "datagrams": udp["InDatagrams"],
                "dropped": udp["RcvbufErrors"], "bytes": int(device.partition(":")[2].split()[0]),
                "tcp": tcp, "frames": self.sent()}

    def close(self):
        for space in self.spaces:
            space.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _lines(name):
    with open(f"/proc/thread-self/net/{name}", encoding="ascii") as f:
        return f.read().splitlines()


PORT_RANGE = "/proc/sys/net/ipv4/ip_local_port_range"
CC_DEFAULT = "/proc/sys/net/ipv4/tcp_congestion_control"
CC_ALLOWED = "/proc/sys/net/ipv4/tcp_allowed_congestion_control"


def _read(path):
    with open(path, encoding="ascii") as f:
        return f.read().strip()


def _write(path, value):
    with open(path, "w", encoding="ascii") as f:
        f.write(f"{value}\n")


def _is_free(port):
    """Without SO_REUSEADDR: what a connection of the last run still has (TIME_WAIT) is not."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as s:
            try:
                s.bind(("", port))
            except OSError:
                return False
    return True


@contextmanager
def _init_lock(seconds=20.0):
    """Held by whoever changes a setting of the initial namespace; the namespace tests take the
    same lock."""
    fd = os.open("/run", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    deadline = time.monotonic() + seconds
    try:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Failed("lock on /run: others hold it") from None
                time.sleep(0.02)
        yield
    finally:
        os.close(fd)


def set_default_cc(space, cc):
    """Make `cc` the default of a namespace. Return whether that worked.

    The kernel refuses what the initial namespace does not list as allowed (EPERM), even to root.
    The list is then widened for the one write and put back: a default once set stays.
    """
    def attempt():
        with space.inside():
            try:
                _write(CC_DEFAULT, cc)
            except OSError:
                pass
            return _read(CC_DEFAULT) == cc

    if attempt():
        return True
    try:
        with _init_lock():
            before = _read(CC_ALLOWED)
            try:
                _write(CC_ALLOWED, f"{before} {cc}")
                return attempt()
            finally:
                _write(CC_ALLOWED, before)
    except OSError:
        return False  # no such algorithm, or this is not the initial namespace


# ---- placement

PLACES = ("same", "split", "free")


def place(name):
    """CPU sets of client and server; None is the scheduler's choice."""
    cpus = sorted(os.sched_getaffinity(0))
    if name == "free":
        return None, None
    if name == "same":
        return {cpus[0]}, {cpus[0]}
    if len(cpus) < 2:
        raise Skip("placement 'split' needs two CPUs")
    return {cpus[0]}, {cpus[1]}


# ---- programs

class Proc:
    """A program in a namespace. Its output goes to files, and what else it writes to a folder of
    its own; all that, and the program, goes with this process."""

    def __init__(self, argv, space, cpus=None):
        self.argv = [str(a) for a in argv]
        self.rusage = None
        self.returncode = None
        self.peak_rss_bytes = 0
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self._folder = tempfile.TemporaryDirectory(prefix="netdyno-bench-")
        with space.inside():
            self._popen = subprocess.Popen(
                self.argv, stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err,
                cwd=self._folder.name, preexec_fn=lambda: _prepare(cpus))
        self.pid = self._popen.pid
        self._pidfd = os.pidfd_open(self.pid)
        _running.append(self)

    def text(self, stream="out"):
        f = self._out if stream == "out" else self._err
        return os.pread(f.fileno(), 1 << 26, 0).decode("utf-8", "replace")

    def said(self):
        """For messages: the end of what it said."""
        words = (self.text("err").strip() or self.text().strip())[-400:]
        return f"{' '.join(self.argv)}: exit {self.returncode}: {words}"

    def cpu_s(self):
        """User and system time so far: all threads, past ones too, and waited-for children."""
        if self.rusage:
            return self.rusage.ru_utime + self.rusage.ru_stime
        fields = _read(f"/proc/{self.pid}/stat").rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / TICK

    def see_rss(self):
        """Note the most memory it has had resident (VmHWM)."""
        try:
            with open(f"/proc/{self.pid}/status", encoding="ascii", errors="replace") as f:
                for line in f:
                    if line.startswith("VmHWM:"):
                        self.peak_rss_bytes = int(line.split()[1]) * 1024
        except OSError:
            pass  # it has ended

    def wait(self, seconds, every_s=None, each=None):
        """Wait until it ends; call each() every_s meanwhile. False: it has not ended."""
        deadline = time.monotonic() + seconds
        poller = select.poll()
        poller.register(self._pidfd, select.POLLIN)
        while self.rusage is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            if poller.poll(1000 * (min(left, every_s) if every_s else left)):
                _, status, self.rusage = os.wait4(self.pid, 0)
                self.returncode = self._popen.returncode = os.waitstatus_to_exitcode(status)
                os.close(self._pidfd)
                _running.remove(self)
                self._folder.cleanup()
            elif each:
                each()
        return True

    def stop(self, grace_s=3.0, patience_s=0.0):
        """End it: wait for it, then ask, then insist. True: it went by itself or when asked."""
        if self.wait(patience_s) or self.rusage:
            return True
        for number, seconds in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 10.0)):
            signal.pidfd_send_signal(self._pidfd, number)
            if self.wait(seconds):
                return number == signal.SIGTERM
        raise Failed(f"process {self.pid} does not end: {' '.join(self.argv)}")

    def wait_text(self, words, seconds=10.0):
        """Wait until it has said these words on stdout."""
        deadline = time.monotonic() + seconds
        while words not in self.text():
            if self.wait(0.005) and words not in self.text():
                raise Failed(self.said())
            if time.monotonic() > deadline:
                raise Failed(f"does not say '{words}': {' '.join(self.argv)}")

    def wait_listening(self, port, seconds=10.0, udp=False):
        """Wait until somebody listens on a TCP port, or has a UDP port, in its namespace."""
        wanted, state = f":{port:04X}", "07" if udp else "0A"
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.wait(0.01):
                raise Failed(self.said())
            for name in ("udp", "udp6") if udp else ("tcp", "tcp6"):
                try:
                    with open(f"/proc/{self.pid}/net/{name}", encoding="ascii") as f:
                        sockets = [line.split()[1:4] for line in f]
                except OSError:
                    continue  # ends just now, or no IPv6
                if any(s[0].endswith(wanted) and s[2] == state for s in sockets):
                    return
        raise Failed(f"nobody listens on port {port}: {' '.join(self.argv)}")


def prefer_this(yes):
    """Let this process run before others; the programs that it starts are as any."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -15 if yes else 0)
    except PermissionError:
        pass


def _prepare(cpus):
    """Between fork and exec."""
    prefer_this(False)
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if cpus:
        os.sched_setaffinity(0, cpus)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@atexit.register
def end_all():
    for proc in list(_running):
        try:
            proc.stop(grace_s=0.5)
        except (Failed, OSError) as e:
            print(e, file=sys.stderr)


# ---- the raw programs

def build_raw(name):
    """Path of bench/raw/NAME.c as a program, compiled when it is newer."""
    folder, program = ROOT / "bench" / "raw", OUT / "raw" / name
    newest = max(f.stat().st_mtime for f in (folder / f"{name}.c", folder / "raw.h"))
    if program.exists() and program.stat().st_mtime >= newest:
        return str(program)
    program.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11", "-D_GNU_SOURCE",
                           "-O2", "-Wall", "-o", str(program), str(folder / f"{name}.c")],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          check=False)
    if done.returncode != 0:
        raise Skip(f"bench/raw/{name}.c does not compile: {done.stderr.strip()[-300:]}")
    return str(program)


# ---- what the machine did meanwhile

def _ksoftirqd():
    pids = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if _read(f"/proc/{entry}/comm").startswith("ksoftirqd/"):
                    pids.append(int(entry))
            except (OSError, UnicodeDecodeError):
                pass
    return pids


class Meter:
    """CPU time of the machine over a run: what belongs to it, and what is foreign."""

    _daemons = None

    def __init__(self):
        if Meter._daemons is None:
            Meter._daemons = _ksoftirqd()
        self._before = self._now()

    @staticmethod
    def _now():
        with open("/proc/stat", encoding="ascii") as f:
            user, nice, system, _, _, irq, softirq, steal = map(int, f.readline().split()[1:9])
        softirqd = 0.0
        for pid in Meter._daemons:
            try:
                softirqd += int(_read(f"/proc/{pid}/schedstat").split()[0]) / 1e9
            except OSError:
                pass  # a CPU went away
        return {"wall": time.monotonic(), "busy": (user + nice + system + irq + softirq) / TICK,
                "steal": steal / TICK, "ksoftirqd": softirqd, "self": time.process_time()}

    def end(self, own_cpu_s):
        """own_cpu_s: of the programs of the run. Return CPU of the run with ksoftirqd's part, and
        foreign and stolen CPU in cores."""
        now = self._now()
        d = {key: now[key] - self._before[key] for key in now}
        cpu = own_cpu_s + d["ksoftirqd"]
        foreign = max(0.0, d["busy"] - cpu - d["self"]) / d["wall"]
        return {"cpu_s": cpu, "wall_s": d["wall"], "foreign_cores": foreign,
                "steal_cores": d["steal"] / d["wall"]}
