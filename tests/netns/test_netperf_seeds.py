# SPDX-License-Identifier: MIT
"""What users of netperf type: the scripts of a cloud provider's article with 64 servers and 64
clients, and what known harnesses ask and read. The article's tests take five minutes, these one
second: its script reads the length from run_time."""
import os
import re
import stat
import time

import pytest

from kit.net import poll, slow

# plain: the peers' tests lead sanitizers through the same code
pytestmark = [pytest.mark.usefixtures("lab"), pytest.mark.plain]

# As the article has them. The second redirection of the first is the article's own.
SERVERS = """\
#!/bin/bash
for j in `seq 64`; do
    netserver -p $[16000+j] > server_$[16000+j].netperf > /dev/null 2>&1  &
done
"""
UDP = """\
#!/bin/bash
server_ip=<Private IP address of the test machine>
for j in `seq 64`; do
    port=$[16000+j]
    netperf -H ${server_ip} -l ${run_time:-300} -t UDP_STREAM  -p $port  -- -m 1 -D > /dev/null 2>&1 &
done
"""
TCP = """\
#!/bin/bash
server_ip=<Private IP address of the test machine>
for j in `seq 64`; do
    port=$[16000+j]
    netperf -H ${server_ip} -l ${run_time:-300} -t TCP_STREAM  -p $port  -- -D > /dev/null 2>&1 &
done
"""
# Kept beside: what each netperf said before it went to /dev/null, and how it ended.
WRAPPER = """\
#!/bin/sh
"{program}" netperf "$@" >"{folder}/said.$$" 2>&1
echo $? >"{folder}/code.$$"
cat "{folder}/said.$$"
"""
SUPER = """\
for i in 1 2 3; do netperf -s 2 "$@" >super.$i & done
wait
for i in 1 2 3; do
    sed -n 7p super.$i | grep -q . && sed -n 7p super.$i || sed -n 6p super.$i
done | awk '{ sum += $NF } END { print sum }'
"""
FLENT_KEYS = (
    "THROUGHPUT,LOCAL_CONG_CONTROL,REMOTE_CONG_CONTROL,TRANSPORT_MSS,LOCAL_TRANSPORT_RETRANS,"
    "REMOTE_TRANSPORT_RETRANS,LOCAL_SOCKET_TOS,REMOTE_SOCKET_TOS,DIRECTION,ELAPSED_TIME,PROTOCOL,"
    "LOCAL_SEND_SIZE,LOCAL_RECV_SIZE,REMOTE_SEND_SIZE,REMOTE_RECV_SIZE,LOCAL_BYTES_SENT,"
    "LOCAL_BYTES_RECVD,REMOTE_BYTES_SENT,REMOTE_BYTES_RECVD")


@pytest.fixture
def folder(netdyno, tmp_path):
    for name in ("netperf", "netserver"):
        os.symlink(netdyno, tmp_path / name)
    return tmp_path


@pytest.fixture
def path(folder):
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.fixture
def served(lab, folder):
    """Two hosts, a netserver in the second: .port, .server, .line of the client."""
    net = lab()
    net.port = net.b.free_port()
    net.server = net.b.spawn([folder / "netserver", "-D", "-p", net.port])
    poll("netserver's port", lambda: net.b.listening(net.port), 10 * slow())
    net.line = [folder / "netperf", "-H", net.b.ip4, "-p", net.port]
    return net


@pytest.mark.limit(90)
@pytest.mark.parametrize("script", [UDP, TCP], ids=["udp", "tcp"])
def test_64_servers_and_64_clients(lab, netdyno, folder, path, script):
    net = lab()
    net.b.run(["bash", "-c", SERVERS], cwd=folder, env=path, timeout=30 * slow(), check=True)
    poll("64 ports", lambda: all(net.b.listening(p) for p in range(16001, 16065)), 30 * slow())
    os.unlink(folder / "netperf")
    (folder / "netperf").write_text(WRAPPER.format(program=netdyno, folder=folder))
    (folder / "netperf").chmod(stat.S_IRWXU)
    script = script.replace("<Private IP address of the test machine>", net.b.ip4)
    net.a.run(["bash", "-c", script + "wait\n"], cwd=folder, env={**path, "run_time": "1"},
              timeout=60 * slow(), check=True)
    codes = [f.read_text().strip() for f in folder.glob("code.*")]
    assert codes == ["0"] * 64, codes
    # datagrams that arrived, or the rate
    row = (r"(?m)^ *\d+ {11}\d+\.\d\d +(\d+) +\d+\.\d\d$" if "UDP" in script else
           r"(?m)^ *\d+ +\d+ +\d+ +\d+\.\d\d +(\d+\.\d\d) +$")
    for said in folder.glob("said.*"):
        found = re.findall(row, said.read_text())
        assert len(found) == 1 and float(found[0]) > 0, said.read_text()


def test_a_client_of_one_byte_datagrams_is_small(served):
    """The original keeps 212,993 buffers of a byte each: 25 MB."""
    if slow() > 1:
        pytest.skip("a sanitizer's own memory is larger")
    proc = served.a.spawn([*served.line, "-l", "2", "-t", "UDP_STREAM", "--", "-m", "1", "-R", "1"])
    poll("datagrams", lambda: served.a.counters()["tx_packets"] > 1000, 20)
    peak = 0
    while proc.returncode is None:
        try:
            with open(f"/proc/{proc.pid}/status", encoding="ascii") as f:
                peak = max([peak, *(int(line.split()[1]) for line in f if "VmHWM" in line)])
        except OSError:
            break
        time.sleep(0.02)  # between two looks
    assert proc.wait(20) == 0 and 0 < peak < 8 * 1024, peak


def losses(said):
    """What the third row tells: all that is lost, and how many where."""
    found = re.search(r"(?m)^(\d+) lost((?:, \d+ [^,;\n]+)*)", said)
    return int(found[1]), {where: int(n) for n, where in re.findall(r", (\d+) ([^,;]+)", found[2])}


@pytest.mark.parametrize("words", ["--losses", "--parallel 4"])
def test_where_datagrams_were_lost(served, words):
    """Both ends' counters place them; nothing is told unless it is asked for."""
    test = "-l 1 -t UDP_STREAM -P 0".split()
    send = "-- -R 1 -m 1000".split()
    said = served.a.run([*served.line, *test, *words.split(), *send, "-S", "2048"],
                        timeout=60 * slow()).stdout
    lost, places = losses(said)
    assert lost == sum(places.values()) and places.get("in receive buffers", 0) > 0, said
    served.a.run(f"tc qdisc add dev {served.a.dev} root tbf rate 8mbit burst 10k limit 10k".split(),
                 check=True)
    said = served.a.run([*served.line, *test, *words.split(), *send], timeout=60 * slow()).stdout
    lost, places = losses(said)
    assert lost == sum(places.values()), said
    assert places["in the sender's queueing discipline"] > lost * 0.9, said
    said = served.a.run([*served.line, *test, *send], timeout=60 * slow()).stdout
    assert "lost" not in said and len(said.splitlines()) == 3, said


@pytest.mark.plain
@pytest.mark.parametrize("words, line", [("-t TCP_STREAM", 7), ("-t UDP_STREAM -- -m 100 -R 1", 6),
                                         ("-t TCP_RR", 7)])
def test_super_netperf(served, folder, path, words, line):
    """A known script sums the last field of line 7, or of line 6 if that is empty."""
    args = ["-H", served.b.ip4, "-p", str(served.port), "-l", "1", *words.split()]
    one = served.a.run([*served.line, "-l", "1", *words.split()], timeout=60 * slow()).stdout
    rate = one.splitlines()[line - 1].split()[-1]
    assert float(rate) > 0 and re.search(r"\.\d\d$", rate), one
    done = served.a.run(["bash", "-c", SUPER, "super", *args], cwd=folder, env=path,
                        timeout=60 * slow(), check=True)
    assert float(done.stdout) > 0, done


def test_probe_of_flent(served):
    """It looks for words of a build that lacks something, on both streams."""
    done = served.a.run([*served.line, "-l", "1", "-D", "-0.2", "--", "-e", "1"],
                        timeout=60 * slow())
    said = done.stdout + done.stderr
    for words in ("Demo Mode not configured", "invalid option"):
        assert words not in said, said
    assert done.returncode == 0 and "Interim result:" in done.stdout, done


@pytest.mark.parametrize("test", ["TCP_STREAM", "TCP_MAERTS"])
def test_words_of_flent(served, test):
    words = (f"-P 0 -v 0 -D -0.20 -4 -Y CS0,CS0 -t {test} -l 1 -F /dev/urandom -f m -- "
             f"-H {served.b.ip4} -k {FLENT_KEYS}")
    done = served.a.run([*served.line, *words.split()], timeout=60 * slow(),
                        env={**os.environ, "DUMP_TCP_INFO": "1"})
    assert done.returncode == 0, done
    pairs = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert set(FLENT_KEYS.split(",")) <= set(pairs), done.stdout
    assert int(pairs["LOCAL_SOCKET_TOS"], 0) == 0 and pairs["PROTOCOL"] == "TCP"
    lists = [[k for k in pairs if k.startswith(f"NETPERF_{name}[")]
             for name in ("INTERIM_RESULT", "UNITS", "INTERVAL", "ENDING")]
    assert len({len(l) for l in lists}) == 1 and len(lists[0]) >= 3, done.stdout
    for key in lists[2]:
        assert 0 < float(pairs[key]) < 1, done.stdout
    words = done.stderr.split()
    names = set(words[::2])
    assert {"tcpi_rto", "tcpi_rtt", "tcpi_total_retrans", "tpci_snd_cwnd"} <= names, done.stderr
    assert all(w.isdigit() for w in words[1::2]), done.stderr


@pytest.mark.plain
def test_words_of_perfkit(served):
    """Its first line begins with a word it knows, then comes CSV with long names, then a histogram."""
    selected = ("THROUGHPUT,THROUGHPUT_UNITS,P50_LATENCY,P90_LATENCY,P99_LATENCY,STDDEV_LATENCY,"
                "MIN_LATENCY,MAX_LATENCY,CONFIDENCE_ITERATION,THROUGHPUT_CONFID")
    port = served.b.free_port()
    words = f"-j -v2 -t TCP_RR -l 1 -I 99,5 -i 3,3 -- -P ,{port} -o {selected}"
    done = served.a.run([*served.line, *words.split()], timeout=60 * slow())
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[0].startswith("MIGRATED"), done
    row = dict(zip(lines[1].split(","), lines[2].split(",")))
    assert row["Throughput Units"] == "Trans/s" and row["Confidence Iterations Run"] == "3"
    assert float(row["Throughput"]) > 0 and "99th Percentile Latency Microseconds" in row
    rows = done.stdout[done.stdout.index("UNIT_USEC"):done.stdout.index(">100_SECS")].splitlines()
    counts = [[int(n) for n in line.split(":")[1:]] for line in rows]
    assert len(counts) == 8 and all(len(c) == 10 for c in counts)
    assert sum(map(sum, counts)) == int(re.search(r"HIST_TOTAL: *(\d+)", done.stdout)[1])


@pytest.mark.parametrize("words", ["-t TCP_STREAM", "-t TCP_MAERTS", "-t TCP_RR", "-t TCP_CRR",
                                   "-t UDP_STREAM -- -R 1"])
def test_a_client_that_vanishes_is_cleaned_up(served, words):
    """Its test ends, nothing stays open, and the next client is served."""
    fds, last = f"/proc/{served.server.pid}/fd", [*served.line, "-l", "-100", "-t", "TCP_RR"]
    assert served.a.run(last, timeout=60 * slow()).returncode == 0
    before = len(os.listdir(fds))
    proc = served.a.spawn([*served.line, "-l", "60", *words.split()])
    poll("data", lambda: served.a.counters()["tx_packets"] > 200, 20 * slow())
    assert len(os.listdir(fds)) > before
    proc.kill()
    poll("the end of its test", lambda: len(os.listdir(fds)) <= before, 20 * slow())
    assert served.a.run(last, timeout=60 * slow()).returncode == 0


def test_also_names_a_port_in_use(lab, netdyno, folder):
    net = lab()
    own, port = net.b.free_port(), net.b.free_port()
    net.b.spawn([folder / "netserver", "-D", "-p", port])
    poll("netserver's port", lambda: net.b.listening(port), 10 * slow())
    other = net.b.spawn([netdyno, "serve", "-p", own, "--also", f"netperf:{port}"])
    other.wait_line(f"{port}.*not served", 10 * slow(), "stderr")
    done = net.a.run([netdyno, "stream", net.b.ip4, "-p", own, "-n", "1M", "-q"],
                     timeout=60 * slow())
    assert done.returncode == 0, done
