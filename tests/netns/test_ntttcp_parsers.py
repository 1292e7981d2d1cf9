# SPDX-License-Identifier: MIT
"""What reads NTttcp's output elsewhere reads ours, of real runs, at both ends, with the command lines
that are used there."""
import json
import re
import resource
import signal
import time
from decimal import Decimal
from xml.etree import ElementTree

import pytest

from kit import ntttcp
from kit.net import poll, slow
from test_ntttcp_golden import LINUX, THROUGHPUT_LINE, WANTED, WINDOWS

pytestmark = pytest.mark.plain  # the peers' tests lead sanitizers through the same code

# The first word would be taken for the result by the suite for Windows guests.
TOTAL = re.compile(r"^ *TOTAL +([0-9.]+)", re.MULTILINE)
INTERRUPTS = "--show-dev-interrupts Hypervisor callback interrupts"  # three words, not quoted


@pytest.fixture
def folder(tmp_path, netdyno):
    return ntttcp.links(tmp_path, netdyno)


def run(net, folder, receiver, sender, within=12.0, ready="threads created"):
    """Both command lines in text; {r} and {s} are the addresses, {nic} the interface."""
    def words(text, name="ntttcp"):
        return [name, *text.format(r=net.b.ip4, s=net.a.ip4, nic=net.b.dev).split()]
    return ntttcp.both(folder, (net.b, words(receiver)), (net.a, words(sender)), ready=ready, within=within)


def read_linux(text, packets=("tx", "rx")):
    """As that suite does; what it may leave out is looked for again."""
    found = LINUX.match(text)
    assert found, text
    value = Decimal(found["throughput"].strip())
    gbps = value / 1000 if found["unit"] == "Mbps" else value
    assert gbps > 0 and Decimal(found["cycles"]) >= 0
    assert all(int(found[way]) > 0 for way in packets) and int(found["tx"]) >= 0 and int(found["rx"]) >= 0
    assert len(THROUGHPUT_LINE.findall(text)) == 1
    return gbps


# --- the Linux suite

@pytest.mark.plain
@pytest.mark.limit(40)
def test_linux_suite_tcp(lab, folder):
    net = lab()
    first, second = run(
        net, folder, "-r{r} -P 64 -t 1 -W 1 -C 1 -b 64k --show-nic-packets {nic} -e " + INTERRUPTS,
        "-s{r} -P 64 -n 4 -t 1 -W 1 -C 1 -b 64k -a {s} --show-nic-packets {nic} " + INTERRUPTS)
    assert read_linux(first.stdout) > 0 and read_linux(second.stdout) > 0
    assert "threads created" in first.stdout
    assert re.search(r"\b256 connections created in [0-9]+ microseconds", second.stdout)
    for end in (first, second):
        assert re.search(r"pkts/interrupt[^:]*:[0-9.]+", end.stdout)
        assert re.search(r"retrans segs[^:]*:[0-9]+", end.stdout)


@pytest.mark.parametrize("device", ["mlx", "Hypervisor callback interrupts", "LOC"])
def test_linux_suite_interrupts(lab, folder, device):
    net = lab()
    more = f"--show-nic-packets {{nic}} --show-dev-interrupts {device}"
    first, second = run(net, folder, f"-r{{r}} -P 1 -t 1 {more} -e", f"-s{{r}} -P 1 -n 1 -t 1 {more}")
    for end in (first, second):
        read_linux(end.stdout)
        total = int(re.search(r"INFO: \t total\t\t:([0-9]+)", end.stdout)[1])
        assert (total > 0) == (device == "LOC")
        assert re.search(r"INFO: \t interrupts/sec\t:[0-9]+\.[0-9]{3}$", end.stdout, re.M)


@pytest.mark.parametrize("more", ["", "-N"], ids=["sync", "-N"])
def test_linux_suite_udp(lab, folder, more):
    net = lab()
    first, second = run(net, folder, f"-r{{r}} -P 1 -t 1 -u -b 1k --show-nic-packets {{nic}} -e {more}",
                        f"-s{{r}} -P 1 -n 1 -t 1 -u -b 1k --show-nic-packets {{nic}} {more}")
    # nobody answers a datagram
    received, sent = read_linux(first.stdout, ["rx"]), read_linux(second.stdout, ["tx"])
    assert 100 * (sent - received) / sent <= 100
    assert "retrans segs" not in first.stdout + second.stdout


def test_linux_suite_is_rate_limited(lab, folder):
    """Few bits are Mbit still: other units are not read."""
    net = lab()
    first, second = run(net, folder, "-r{r} -P 1 -t 1 --show-nic-packets {nic}",
                        "-s{r} -P 1 -n 1 -t 1 -B 5M --show-nic-packets {nic}")
    assert read_linux(first.stdout) < 1 and read_linux(second.stdout) < 1
    assert "Mbps" in first.stdout and "Mbps" in second.stdout


def test_linux_suite_kills_the_receiver(lab, folder):
    """What it has printed by then must be there: nothing waits in a buffer."""
    net = lab()
    first = ntttcp.start(folder, net.b, f"ntttcp -r{net.b.ip4} -H -P 1 -t 1 --show-nic-packets {net.b.dev}"
                         .split(), ready="threads created")
    second = ntttcp.start(folder, net.a, f"ntttcp -s{net.b.ip4} -P 1 -n 1 -t 1".split())
    ntttcp.ended(second, within=6)
    poll("a report", lambda: "cycles/byte" in first.stdout, 5 * slow())
    first.kill()
    read_linux(first.stdout)


@pytest.mark.limit(60)
def test_connections_64_by_4(lab, folder):
    net = lab()
    first, second = run(net, folder, "-r{r} -P 64 -t 2 -V --show-nic-packets {nic}",
                        "-s{r} -P 64 -n 4 -t 2 -V --show-nic-packets {nic}")
    assert "INFO: 65 threads created" in first.stdout
    assert "INFO: 256 threads created" in second.stdout
    assert "INFO: 256 connections tested" in second.stdout
    rows = re.compile(r"INFO: \t([0-9]+)\t +([0-9.]+)\t +([0-9.]+)([KMG]?)bps", re.M)
    assert [int(r[0]) for r in rows.findall(first.stdout)] == list(range(64))
    assert [int(r[0]) for r in rows.findall(second.stdout)] == list(range(256))
    assert all(float(r[2]) > 0 for r in rows.findall(first.stdout))


@pytest.mark.limit(120)
@pytest.mark.parametrize("threads, conns", [(16, 1), (16, 20)], ids=["1024", "20480"])
def test_many_connections(lab, folder, threads, conns):
    """Up to the most that the suite asks for. Each end has that many descriptors, more than a low limit
    gives."""
    wanted = 64 * threads * conns
    if slow() > 1 and conns > 1:
        pytest.skip("too many for a sanitizer build")
    net = lab()
    line = f"-P 64 -t 1 -W 1 --show-nic-packets {net.a.dev}".split()
    limit = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 204800)
    lifted = ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh"]
    for host in net.hosts:
        host.sysctl("net.ipv4.ip_local_port_range", "1024 65535")
    begun = time.monotonic()
    first = net.b.spawn([*lifted, folder / "ntttcp", f"-r{net.b.ip4}", *line])
    first.wait_line("threads created", 10 * slow())
    second = net.a.spawn([*lifted, folder / "ntttcp", f"-s{net.b.ip4}", "-n", threads, "-l", conns,
                          *line])
    ntttcp.ended(second, within=45)
    ntttcp.ended(first, within=20)
    print(f"{wanted} connections: {time.monotonic() - begun:.1f} s")
    read_linux(first.stdout)
    read_linux(second.stdout)
    assert f"INFO: {wanted} connections tested" in second.stdout


# --- the Windows suite and the articles

def test_windows_suite_reads_the_tables(lab, folder):
    net = lab()
    mapping = f"-m 4,*,{net.b.ip4} -t 1 -wu 0"
    first, second = run(net, folder, f"-r {mapping}", f"-s {mapping}", ready=6004)
    for end in (first, second):
        assert not TOTAL.search(end.stdout), "or it would be taken for the result"
        found = WINDOWS.search(end.stdout)
        assert found, end.stdout
        assert float(found["rate"]) > 0
        rate = float(found["bytes"]) / float(found["seconds"])
        assert rate == pytest.approx(float(found["rate"]), rel=0.01)


def read_xml(path, root_tag):
    """Strictly; returns what the benchmark collection makes of it."""
    raw = path.read_text(encoding="utf-8")
    root = ElementTree.fromstring(raw)
    assert root.tag == root_tag
    assert len(root.findall('throughput[@metric="mbps"]')) == 1
    for tag, metric in WANTED:
        found = [e for e in root.findall(tag) if e.get("metric") == metric]
        assert len(found) == 1, tag
        float(found[0].text)
    for thread in root.findall("thread"):
        assert thread.get("index").isdigit()
        assert float(thread.find('throughput[@metric="mbps"]').text) >= 0
    for element in root.findall("throughput"):
        assert element.get("metric")
    parameters = {e.tag: e.text for e in root.find("parameters")}
    others = {e.tag: e.text for e in root if e.tag not in ("parameters", "thread", "throughput")}
    return float(root.find('throughput[@metric="mbps"]').text), parameters, others, root


@pytest.mark.parametrize("udp", [False, True], ids=["tcp", "udp"])
def test_benchmark_collection_reads_the_file(lab, folder, udp):
    net = lab()
    kind = "-u -l 1400" if udp else "-l 64K"
    line = f"-xml -t 1 -p 5001 {kind} -m 4,*,{{where}} -rb 512K -sb 512K"
    for turn in (1, 2):  # the file is replaced: two roots would break the parser
        first, second = run(net, folder, "-r " + line.format(where="0.0.0.0"),
                            "-s " + line.format(where="{r}") + f" -xml sent{turn}.xml", ready=6004)
        rate, parameters, others, root = read_xml(folder / "xml.txt", "ntttcpr")
        assert rate > 0 and len(root.findall("thread")) == 4
        assert parameters["run_time"] == "1000", "in milliseconds"
        assert parameters["port"] == "5005" and parameters["udp"] == str(udp)
        assert parameters["recv_socket_buff"] == parameters["send_socket_buff"] == "524288"
        assert others["bufferLen"] == ("1400" if udp else "65536")
        rate, parameters, others, root = read_xml(folder / f"sent{turn}.xml", "ntttcps")
        assert rate > 0 and len(root.findall("thread")) == 4
        for end in (first, second):
            assert "Totals" not in end.stdout
    assert not [p for p in folder.iterdir() if "xml" in p.name and p.name not in
                ("xml.txt", "sent1.xml", "sent2.xml")], "nothing is left beside them"


@pytest.mark.parametrize("named", [True, False], ids=["named", "default names"])
def test_linux_files(lab, folder, named):
    net = lab()
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    files = ("-x out.xml", "-j out.json", "-O out.log") if named else ("-x", "-j", "-O")
    names = ("out.xml", "out.json", "out.log") if named else \
        [f"ntttcp-for-linux-log.{ext}" for ext in ("xml", "json", "log")]
    options = f"-P 2 -t 1 -V --show-nic-packets {net.b.dev} --show-tcp-retrans {' '.join(files)}".split()
    for where in ("a", "b"):
        for name in names:
            (folder / where / name).write_text("of another test\n" * 5000, encoding="utf-8")
    first = ntttcp.start(folder, net.b, ["ntttcp", f"-r{net.b.ip4}", *options], "threads created",
                         cwd=folder / "b")
    second = ntttcp.start(folder, net.a, ["ntttcp", f"-s{net.b.ip4}", "-n", "2", *options],
                          cwd=folder / "a")
    ntttcp.ended(second)
    ntttcp.ended(first)
    for where, root_tag, end, threads in (("b", "ntttcpr", first, 2), ("a", "ntttcps", second, 4)):
        xml, document, log = (folder / where / name for name in names)
        rate, parameters, others, root = read_xml(xml, root_tag)
        assert rate > 0 and parameters["run_time"] == "1", "in seconds"
        assert len(root.findall("thread")) == threads
        assert len(root.findall("tcp_retransmits")) == 8
        assert float(others["cycles_per_byte"]) >= 0 and float(others["cpu_busy_all"]) > 0
        body = json.loads(document.read_text(encoding="utf-8"))[root_tag]
        assert body["totalBytes"]["value"] == others["total_bytes"]
        assert re.search(r'"metric" : "MB/s",\n +"value" : "', document.read_text(encoding="utf-8"))
        assert len(body["threads"]) == threads
        assert re.search(r"INFO: #####  Totals:  #####$", log.read_text(encoding="utf-8"), re.M)
        assert "of another test" not in log.read_text(encoding="utf-8")
        total = int(re.search(r"total bytes\t:([0-9]+)", end.stdout)[1])
        assert float(others["total_bytes"]) == pytest.approx(total / 1e6, abs=1e-6)
        assert sorted(p.name for p in (folder / where).iterdir()) == sorted(names)


def test_file_of_an_interrupted_test(lab, folder):
    net = lab()
    first = ntttcp.start(folder, net.b, f"ntttcp -r{net.b.ip4} -P 1 -t 30 -x".split(), "threads created")
    second = ntttcp.start(folder, net.a, f"ntttcp -s{net.b.ip4} -P 1 -n 1 -t 30 -x sent.xml".split())
    second.wait_line("Real-time", 8 * slow())
    second.send_signal(signal.SIGINT)
    ntttcp.ended(second, code=None, within=5)
    ntttcp.ended(first, code=None, within=5)
    read_xml(folder / "ntttcp-for-linux-log.xml", "ntttcpr")
    read_xml(folder / "sent.xml", "ntttcps")


def test_file_that_cannot_be_written(lab, folder):
    """Said before anything is measured, and a reason for another exit code; the original is silent."""
    host = lab().a
    for words in (f"ntttcp -r{host.ip4} -P 1 -t 1 -x no/such/folder.xml",
                  f"ntttcp -s{host.ip4} -P 1 -n 1 -t 1 -j no/such/folder.json"):
        proc = ntttcp.start(folder, host, words.split())
        ntttcp.ended(proc, code=None, within=6)
        assert proc.returncode != 0 and words.split()[-1] in proc.stderr


# --- typeset dashes

@pytest.mark.parametrize("dash", "–−", ids=["en", "minus"])
def test_dashes_are_understood(lab, folder, dash):
    net = lab()
    first, second = run(net, folder, f"{dash}r{{r}} {dash}P 2 {dash}t 1",
                        f"{dash}s{{r}} {dash}P 2 {dash}n 1 {dash}t 1")
    for end in (first, second):
        assert "Totals:" in end.stdout
    assert "INFO: 2 connections tested" in second.stdout
