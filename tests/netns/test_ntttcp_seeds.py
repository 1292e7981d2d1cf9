# SPDX-License-Identifier: MIT
"""Commands of the cloud providers' articles about NTttcp, as they are typed there, on hosts that
have the articles' addresses. Only the length of the test is another one."""
import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree

import pytest

from kit import ntttcp
from kit.net import Lab, slow

pytestmark = pytest.mark.plain  # the peers' tests lead sanitizers through the same code

# Two threads, two ports, TCP; Windows words. The article of three languages says the same.
EC2_TCP = (r"ntttcp -r -p 80 -a 6 -t 60 -cd 5 -wu 5 -v -xml c:\bench.xml -m 1,0,192.168.1.4 1,1,192.168.1.4",
           r"ntttcp -s -p 80 -a -t 60 -cd 5 -wu 5 -m 1,0,192.168.1.4 1,1,192.168.1.4")
# The same over UDP; some of the dashes are typeset ones.
EC2_UDP = ("ntttcp –r –u -p 80 –t 60 –cd 5 –wu 5 –v –xml c:\\\\bench.xml –m 1,0,192.168.1.4 1,1,192.168.1.4",
           "ntttcp -s –u -p 80 -t 60 -cd 5 -wu 5 -m 1,0,192.168.1.4 1,1,192.168.1.4")
AZURE = {
    "try": ("ntttcp -r -m 4,*,10.0.0.5 -t 10 -P 1", "ntttcp -s -m 4,*,10.0.0.5 -t 10 -P 1"),
    "run": ("ntttcp -r -m 4,*,10.0.0.5 -t 300", "ntttcp -s -m 4,*,10.0.0.5 -t 300"),
    "windows and linux": ("ntttcp -r -m 4,*,10.0.0.5 -t 300",
                          "ntttcp -s -m 4,*,10.0.0.5 -ns -t 300"),
}

# What the articles show of the receiver's file, in order: settings, of a thread, of the test.
SETTINGS = """
    send_socket_buff recv_socket_buff port sync_port async verbose wsa use_ipv6 udp verify_data
    wait_all run_time warmup_time cooldown_time dash_n_timeout bind_sender sender_name
    max_active_threads
""".split()
THREAD = [("realtime", "s"), ("throughput", "KB/s"), ("throughput", "MB/s"),
          ("throughput", "mbps"), ("avg_bytes_per_compl", "B")]
TOTALS = [("total_bytes", "MB"), ("realtime", "s"), ("avg_bytes_per_compl", "B"),
          ("threads_avg_bytes_per_compl", "B"), ("avg_frame_size", "B"), ("throughput", "MB/s"),
          ("throughput", "mbps"), ("total_buffers", None), ("throughput", "buffers/s"),
          ("avg_packets_per_interrupt", "packets/interrupt"), ("interrupts", "count/sec"),
          ("dpcs", "count/sec"), ("avg_packets_per_dpc", "packets/dpc"),
          ("cycles", "cycles/byte"), ("packets_sent", None), ("packets_received", None),
          ("packets_retransmitted", None), ("errors", None), ("cpu", "%"), ("bufferCount", None),
          ("bufferLen", None), ("io", None)]

# The tables that the article about Windows machines shows.
NUMBER = r" *[0-9]+\.[0-9]+"
TABLES = re.compile(
    r"Copyright Version [0-9.]+\nNetwork activity progressing\.\.\.\n"
    r"\n\nThread  Time\(s\) Throughput\(KB/s\) Avg B / Compl\n"
    r"======  ======= ================ =============\n"
    r"(?P<rows>(?: +[0-9]+ +[0-9]+\.[0-9]{3} +[0-9]+\.[0-9]{3} +[0-9]+\.[0-9]{3}\n)+)"
    r"\n\n#####  Totals:  #####\n"
    r"\n\n   Bytes\(MEG\)    realtime\(s\) Avg Frame Size Throughput\(MB/s\)\n"
    r"================ =========== ============== ================\n"
    rf"(?P<bytes>{NUMBER})(?P<seconds>{NUMBER}){NUMBER}(?P<rate>{NUMBER})\n"
    r"\n\nThroughput\(Buffers/s\) Cycles/Byte       Buffers\n"
    r"===================== =========== =============\n"
    rf"{NUMBER}{NUMBER}(?P<buffers>{NUMBER})\n"
    r"\n\nDPCs\(count/s\) Pkts\(num/DPC\)   Intr\(count/s\) Pkts\(num/intr\)\n"
    r"============= ============= =============== ==============\n"
    rf"{NUMBER}{NUMBER}{NUMBER}{NUMBER}\n"
    r"\n\nPackets Sent Packets Received Retransmits Errors Avg. CPU %\n"
    r"============ ================ =========== ====== ==========\n"
    rf" *(?P<sent>[0-9]+) +(?P<received>[0-9]+) +[0-9]+ +[0-9]+{NUMBER}\n")


def typed(command, seconds):
    """The words that a shell makes of a command, with another length of the test."""
    short, n = re.subn(r"([-–]t) [0-9]+", rf"\1 {seconds}", command)
    assert n == 1
    # no file is called like a mapping, so the shell leaves the asterisk alone
    return shlex.split(short)


class Done:
    """A command pair that ran: what both said, and the folder they ran in."""

    def __init__(self, folder, receiver, sender):
        self.folder, self.receiver, self.sender = folder, receiver, sender


def run_pair(folder, netdyno, commands, address, *, seconds=1, more=0, name=None, ready):
    """Both ends in a lab of their own, the receiver's host with the address."""
    folder.mkdir(exist_ok=True)
    ntttcp.links(folder, netdyno)
    first, second = (typed(c, seconds) for c in commands)
    if name:
        first[0] = second[0] = name
    with Lab() as net:
        net.b.add_addr(f"{address}/24")
        net.a.add_addr(f"{address[:-1]}9/24")
        return Done(folder, *ntttcp.both(folder, (net.b, first), (net.a, second), ready=ready,
                                         within=seconds + more + 6))


@pytest.fixture(scope="module")
def article(tmp_path_factory, netdyno):
    """The two long pairs (they warm up and cool down for 5 s) at the same time."""
    folder = tmp_path_factory.mktemp("articles")
    jobs = {"tcp": (EC2_TCP, 80), "udp": (EC2_UDP, 80)}
    with ThreadPoolExecutor() as pool:
        futures = {key: pool.submit(run_pair, folder / key, netdyno, commands, "192.168.1.4",
                                    more=10, ready=port)
                   for key, (commands, port) in jobs.items()}
    return futures


@pytest.mark.limit(90)
@pytest.mark.parametrize("way", ["tcp", "udp"])
def test_the_file_has_what_the_article_shows(article, way):
    done = article[way].result()
    # a shell takes one backslash away
    name = {"tcp": "c:bench.xml", "udp": "c:\\bench.xml"}[way]
    assert name in done.receiver.stdout, "where it went is said"
    root = ElementTree.parse(done.folder / name).getroot()
    assert root.tag == "ntttcpr" and root.get("computername") and root.get("version")
    settings = {e.tag: e.text for e in root.find("parameters")}
    assert [tag for tag in settings if tag in SETTINGS] == SETTINGS
    wanted = {"port": "82", "sync_port": "False", "verbose": "True", "wsa": "False",
              "use_ipv6": "False", "udp": str(way == "udp"), "async": str(way == "tcp"),
              "verify_data": "False", "wait_all": "False", "run_time": "1000",
              "warmup_time": "5000", "cooldown_time": "5000", "dash_n_timeout": "10800000",
              "bind_sender": "False", "sender_name": None, "max_active_threads": "2"}
    assert {k: settings[k] for k in wanted} == wanted
    threads = root.findall("thread")
    assert [t.get("index") for t in threads] == ["0", "1"]
    for thread in threads:
        seen = [(e.tag, e.get("metric")) for e in thread]
        assert [e for e in seen if e in THREAD] == THREAD
        assert float(thread.find('throughput[@metric="mbps"]').text) > 0
    seen = [(e.tag, e.get("metric")) for e in root if e.tag not in ("parameters", "thread")]
    assert [e for e in seen if e in TOTALS] == TOTALS
    for element in root:
        if element.tag not in ("parameters", "thread"):
            float(element.text)
    assert float(root.find("realtime").text) == pytest.approx(1.0, abs=0.02 * slow())
    assert root.find("bufferLen").text == {"tcp": "65536", "udp": "128"}[way]
    assert root.find("io").text == {"tcp": "6", "udp": "2"}[way]
    assert int(root.find("packets_received").text) > 0


@pytest.mark.limit(90)
@pytest.mark.parametrize("way", ["tcp", "udp"])
def test_the_sender_prints_tables(article, way):
    done = article[way].result()
    tables = TABLES.search(done.sender.stdout)
    assert tables, done.sender.stdout
    assert len(tables["rows"].splitlines()) == 2
    assert float(tables["seconds"]) == pytest.approx(1.0, abs=0.02 * slow())
    size = {"tcp": 65536, "udp": 128}[way]
    assert float(tables["buffers"]) * size == pytest.approx(float(tables["bytes"]) * 2**20, rel=0.01)
    # with a file, the receiver's console has none
    assert "Totals" not in done.receiver.stdout
    assert "Network activity progressing..." in done.receiver.stdout


@pytest.mark.limit(90)
def test_an_unlimited_udp_test_counts_what_arrived(article):
    done = article["udp"].result()
    root = ElementTree.parse(done.folder / "c:\\bench.xml").getroot()
    sent = TABLES.search(done.sender.stdout)
    # a lone megabyte that was under way at an edge is no matter
    assert float(root.find("total_bytes").text) <= float(sent["bytes"]) * 1.05 + 1
    assert float(root.find("avg_bytes_per_compl").text) == 128


def measured(which, seconds):
    """Is it the second that was asked for? A receiver that is not told about -ns takes a moment to
    find out, and an end that this machine holds up passes an edge later."""
    least = 0.3 if which == "windows and linux" else 1.0 - 0.02 * slow()
    return least <= float(seconds) <= 1.0 + 0.02 * slow()


@pytest.mark.parametrize("which", AZURE)
def test_linux_machines(tmp_path, netdyno, which):
    done = run_pair(tmp_path / "w", netdyno, AZURE[which], "10.0.0.5",
                    ready="threads created" if which != "windows and linux" else 5001)
    ports = 1 if which == "try" else 4
    assert re.search(rf"INFO: {ports + 1} threads created$", done.receiver.stdout, re.M)
    assert re.search(r"^[0-9:]{8} INFO: \t throughput\t:[0-9.]+[MG]bps$", done.receiver.stdout, re.M)
    assert measured(which, re.search(r"test duration\t:([0-9.]+) seconds", done.receiver.stdout)[1])
    if which == "windows and linux":
        assert TABLES.search(done.sender.stdout)
        return
    assert re.search(rf"INFO: {ports} connections created in [0-9]+ microseconds$",
                     done.sender.stdout, re.M)
    assert re.search(rf"INFO: {ports} connections tested$", done.sender.stdout, re.M)
    assert measured("", re.search(r"test duration\t:([0-9.]+) seconds", done.sender.stdout)[1])
    assert re.search(r"^[0-9:]{8} INFO: \t throughput\t:[0-9.]+[MG]bps$", done.sender.stdout, re.M)


@pytest.mark.parametrize("which", AZURE)
def test_windows_machines(tmp_path, netdyno, which):
    """By the name that the program has there; -P is the port base then."""
    port = 1 if which == "try" else 5001
    done = run_pair(tmp_path / "w", netdyno, AZURE[which], "10.0.0.5", name="ntttcp.exe",
                    more=1, ready=port + 3)
    for end in (done.receiver, done.sender):
        tables = TABLES.search(end.stdout)
        assert tables, end.stdout
        rows = tables["rows"].splitlines()
        assert [r.split()[0] for r in rows] == ["0", "1", "2", "3"]
        for row in rows:
            assert float(row.split()[2]) > 0, row
        assert measured(which if end is done.receiver else "", tables["seconds"])
        assert float(tables["bytes"]) / float(tables["seconds"]) \
            == pytest.approx(float(tables["rate"]), rel=0.01)


def test_alone_it_lists_all_switches(tmp_path, netdyno, lab):
    folder = ntttcp.links(tmp_path, netdyno)
    done = lab().a.run([folder / "ntttcp"])
    assert done.returncode == 0 and not done.stderr
    used = set(re.findall(r"(?<= )[-–]([a-zA-Z]+)", " ".join(
        c for pair in (EC2_TCP, EC2_UDP, *AZURE.values()) for c in pair)))
    for switch in used | {"ns", "sp", "N", "b", "W", "C"}:
        assert re.search(rf"^ +-{switch}\b", done.stdout, re.M), switch


def test_through_the_main_program(tmp_path, netdyno, lab):
    folder = ntttcp.links(tmp_path, netdyno)
    net = lab()
    net.b.add_addr("10.0.0.5/24")
    net.a.add_addr("10.0.0.9/24")
    (folder / "netdyno").symlink_to(netdyno)
    words = [["netdyno", *typed(c, 1)] for c in AZURE["try"]]
    first, second = ntttcp.both(folder, (net.b, words[0]), (net.a, words[1]), within=7)
    assert "Totals:" in first.stdout and "Totals:" in second.stdout
