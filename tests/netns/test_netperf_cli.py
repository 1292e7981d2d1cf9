# SPDX-License-Identifier: MIT
"""netperf and netserver by their link names: exit codes, what is printed where, and how they end."""
import os
import signal
import socket
import subprocess

import pytest

from kit.net import poll, slow

pytestmark = pytest.mark.plain

# What scripts look for to tell a build without a feature.
NOT_SAID = ("Demo Mode not configured", "invalid option", "not compiled in")

# Words, exit code, what is said on stderr. Nothing is connected.
WRONG = [
    ("netperf -x", 1, "unknown option '-x'"),
    ("netperf -H", 1, "-H needs a value"),
    ("netperf -F ,a234567890123456789012345678901234", 255, "must be less than 32 characters"),
    ("netperf -l soon", 1, "not a number"),
    ("netserver -x", 1, "unknown option '-x'"),
    ("netserver -p 70000", 1, "outside 1..65535"),
]

# Words, exit code, on stdout, on stderr.
ASKED = [
    ("netperf -V", 0, "Netperf version 2.7.0\n", ""),
    ("netserver -V", 0, "Netperf version 2.7.0\n", ""),
    ("netperf -h", 1, "", "usage: netperf"),
    ("netserver -h", 1, "", "usage: netserver"),
    ("netperf -I 90", 255, "Only 95% and 99% confidence level is supported\n", ""),
    ("netperf -t UDP_STREAM -- -m 65508", 1,
     "send_data: data send error: Message too long (errno 90)\n",
     "netperf: send_omni: send_data failed: Message too long\n"),
    ("netperf -- -h", 1, "bytes of one send", ""),
    ("netperf -t SCTP_RR", 1, "The test you requested (SCTP_RR) is unknown to this netperf.\n", ""),
    ("netperf 192.0.2.9 -p 1", 255, "are you sure there is a netserver listening on localhost",
     "'192.0.2.9' is ignored: -H names the host"),
    ("netperf -- -k /no/such/file", 255,
     "Could not open output selection file '/no/such/file' errno 2\n", ""),
]

# Options of the probes of scripts, and all kinds of test that a real netserver knows.
TESTS = [
    "-l 1 -D -0.2 -- -e 1",
    "-t TCP_MAERTS -l 1",
    "-t UDP_STREAM -l 1 -- -m 1000 -R 1",
    "-t TCP_RR -l -100",
    "-t UDP_RR -l -100 -- -e 1",
    "-t TCP_CRR -l -50",
    "-t TCP_CC -l -50",
    "-t TCP_SENDFILE -l 1",
    "-t TCP_STREAM -l -1M",
    "-t REM_CPU",
    "-t LOC_CPU",
    "-t UUID",
    "-t omni -l 1 -- -d send -o THROUGHPUT,ELAPSED_TIME",
    "-t TCP_RR -l 1 -Z secret -c -C -T 0,0 -- -b 4 -r 64,128",
    "-t TCP_STREAM -l 1 --parallel 4",
]


@pytest.fixture(scope="module")
def folder(netdyno, tmp_path_factory):
    made = tmp_path_factory.mktemp("netperf")
    for name in ("netperf", "netserver"):
        os.symlink(netdyno, made / name)
    return made


def program(folder, line):
    words = line.split()
    return subprocess.run([folder / words[0], *words[1:]], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=60 * slow(), check=False)


@pytest.mark.parametrize("line, code, said", WRONG, ids=[row[0] for row in WRONG])
def test_wrong_words(folder, line, code, said):
    done = program(folder, line)
    assert done.returncode == code and said in done.stderr, done
    assert done.stdout == "" and len(done.stderr.splitlines()) == 1, done
    assert done.stderr.startswith(line.split()[0] + ": "), done


@pytest.mark.parametrize("line, code, out, err", ASKED, ids=[row[0] for row in ASKED])
def test_asked(folder, line, code, out, err):
    done = program(folder, line)
    assert done.returncode == code, done
    assert out in done.stdout and (out or not done.stdout), done
    assert err in done.stderr and (err or not done.stderr), done


@pytest.fixture
def served(lab, folder):
    """Two hosts, and a netserver in the second: .a, .b, .port, and netperf(words) in the first."""
    net = lab()
    net.port = net.b.free_port()
    net.server = net.b.spawn([folder / "netserver", "-D", "-p", net.port, "-d"])
    poll("netserver's port", lambda: net.b.listening(net.port), 10 * slow())
    net.netperf = lambda words: net.a.run(
        [folder / "netperf", "-H", net.b.ip4, "-p", net.port, *words.split()], timeout=60 * slow())
    return net


@pytest.mark.parametrize("words", TESTS)
def test_runs(served, words):
    done = served.netperf(words)
    assert done.returncode == 0 and done.stdout, done
    for text in NOT_SAID:
        assert text not in done.stdout + done.stderr, done


# Words of the receiving end: the longest read that it may make, as it says itself.
READS = [("-t TCP_STREAM -- -M 1000", "REMOTE"), ("-t TCP_STREAM --", "REMOTE"),
         ("-t TCP_MAERTS -- -M ,1000", "LOCAL"), ("-t omni -- -d recv -M ,777", "LOCAL"),
         ("-t TCP_STREAM --parallel 2 -- -M 900", "REMOTE")]


@pytest.mark.parametrize("words, end", READS)
def test_reads_are_as_long_as_asked(served, words, end):
    names = [f"{end}_{name}" for name in ("RECV_SIZE", "RECV_CALLS", "BYTES_RECVD")]
    done = served.netperf(f"-l 1 -P 0 {words} -k {','.join(names)}")
    told = dict(line.split("=") for line in done.stdout.splitlines())
    size, calls, got = (int(told[name]) for name in names)
    asked = [int(word) for word in words.partition(" -M ")[2].strip(",").split()]
    assert size == (asked[0] if asked else size) and got > 0, done
    assert got <= size * calls, done


def test_no_netserver(lab, folder):
    net = lab()
    done = net.a.run([folder / "netperf", "-H", net.b.ip4, "-l", "1"], timeout=60 * slow())
    assert done.returncode == 255, done
    assert done.stdout == (
        f"establish control: are you sure there is a netserver listening on {net.b.ip4} at port "
        "12865?\nestablish_control could not establish the control connection from 0.0.0.0 port 0 "
        f"address family AF_UNSPEC to {net.b.ip4} port 12865 address family AF_INET\n"), done


def test_no_such_host(lab, folder):
    net = lab()
    done = net.a.run([folder / "netperf", "-H", "no-such-host.invalid"], timeout=60 * slow())
    last = "Netperf could not resolve no-such-host.invalid as a host name"
    assert done.returncode == 255 and done.stdout.splitlines()[2:] == [last], done


def test_source_that_is_not_ours(served):
    done = served.netperf("-l 1 -L 192.0.2.77")
    assert done.returncode == 255 and "Cannot assign requested address" in done.stderr, done
    assert "establish_control could not establish the control connection from 192.0.2.77" in done.stdout


def test_unknown_congestion_control(served):
    """It is told, and what is used is told, too."""
    done = served.netperf("-l 1 -P 0 -- -K nosuch -k LOCAL_CONG_CONTROL,THROUGHPUT")
    assert done.returncode == 0 and "'nosuch' is not available" in done.stderr, done
    assert done.stdout.startswith("LOCAL_CONG_CONTROL=") and "nosuch" not in done.stdout, done


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGALRM])
def test_interrupt_is_an_end(served, folder, sig):
    """Whoever stops a test wants its result."""
    proc = served.a.spawn([folder / "netperf", "-H", served.b.ip4, "-p", served.port, "-l", "60"])
    poll("data", lambda: served.a.counters()["tx_bytes"] > 10_000_000, 20 * slow())
    proc.send_signal(sig)
    assert proc.wait(20 * slow()) == 0, proc.describe(60)
    assert proc.stdout, proc.describe(60)


def test_netserver_goes_to_the_background(lab, folder):
    """It returns when its port is open, so that the next line of a script may use it."""
    net = lab()
    port = net.b.free_port()
    first = net.b.run([folder / "netserver", "-p", port], timeout=20 * slow())
    assert first.returncode == 0 and first.stderr == "", first
    assert net.b.listening(port)
    second = net.b.run([folder / "netserver", "-p", port], timeout=20 * slow())
    said = f"netserver: Unable to start netserver with  'IN(6)ADDR_ANY' port '{port}' and family AF_UNSPEC"
    assert second.returncode == 1 and second.stderr.startswith(said), second
    done = net.a.run([folder / "netperf", "-H", net.b.ip4, "-p", port, "-l", "1"],
                     timeout=60 * slow())
    assert done.returncode == 0, done


def test_ports_of_one_netserver(lab, folder):
    net = lab()
    net.b.spawn([folder / "netserver", "-D", "-p", "16001-16004"])
    poll("the last port", lambda: net.b.listening(16004), 10 * slow())
    for port in (16001, 16004):
        done = net.a.run([folder / "netperf", "-H", net.b.ip4, "-p", port, "-l", "-1000",
                          "-t", "TCP_RR"], timeout=60 * slow())
        assert done.returncode == 0, done
    assert not net.b.listening(16005)


@pytest.mark.parametrize("words, families", [("-6", "46"), ("-4", "4"), ("", "46")])
def test_families_of_one_netserver(lab, folder, words, families):
    """-6 wants IPv6 and keeps nobody out, as in the original."""
    net = lab()
    port = net.b.free_port()
    net.b.spawn([folder / "netserver", "-D", "-p", port, *words.split()])
    poll("netserver's port", lambda: net.b.listening(port), 10 * slow())
    for family, address in (("4", net.b.ip4), ("6", net.b.ip6)):
        done = net.a.run([folder / "netperf", "-H", address, "-p", port, "-t", "REM_CPU"], timeout=60 * slow())
        assert done.returncode == (0 if family in families else 255), done


def test_no_data_port(served):
    """What the original says then is what scripts look for."""
    done = served.netperf(f"-N -l 1 -- -P ,{served.b.free_port()}")
    assert done.returncode == 1, done
    assert "netperf: send_omni: connect_data_socket failed: Connection refused\n" in done.stderr, done


def test_passphrase(lab, folder):
    net = lab()
    port = net.b.free_port()
    net.b.spawn([folder / "netserver", "-D", "-p", port, "-Z", "open sesame"])
    poll("netserver's port", lambda: net.b.listening(port), 10 * slow())
    line = [folder / "netperf", "-H", net.b.ip4, "-p", port, "-l", "-100", "-t", "TCP_RR"]
    assert net.a.run([*line, "-Z", "open sesame"], timeout=60 * slow()).returncode == 0
    for wrong in ([], ["-Z", "open"]):
        done = net.a.run([*line, *wrong], timeout=60 * slow())
        assert done.returncode == 1 and done.stderr.startswith("recv_response: "), done


def test_inetd(lab, folder):
    """With a socket as standard input, and nothing that asks for a port, it serves that client alone."""
    net = lab()
    port = net.b.free_port()
    with net.b.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((net.b.ip4, port))
        listener.listen(1)
        client = net.a.spawn([folder / "netperf", "-H", net.b.ip4, "-p", port, "-t", "TCP_RR",
                              "-l", "-100"])
        listener.settimeout(20 * slow())
        connection, _ = listener.accept()
    with connection:
        server = net.b.spawn([folder / "netserver"], stdin=connection)
    assert client.wait(30 * slow()) == 0, client.describe(60)
    assert server.wait(20 * slow()) == 0, server.describe(60)


def test_also(lab, netdyno, folder):
    net = lab()
    port, own = net.b.free_port(), net.b.free_port()
    net.b.spawn([netdyno, "serve", "-p", own, "--also", f"netperf:{port}"])
    poll("netperf's port", lambda: net.b.listening(port), 10 * slow())
    done = net.a.run([folder / "netperf", "-H", net.b.ip4, "-p", port, "-l", "-100", "-t", "TCP_RR"],
                     timeout=60 * slow())
    assert done.returncode == 0, done
