# SPDX-License-Identifier: MIT
"""flent with our netperf and netserver first on PATH: its tests run unmodified, and its data files hold
series. Its flood of UDP asks for iperf, so ours is netperf's own, beside a series of round trips."""
import glob
import gzip
import json
import os

import pytest

from kit.net import need, poll, slow

pytestmark = [pytest.mark.usefixtures("lab"), pytest.mark.limit(150)]

STEP_S = 0.2
# test -> series that must be there
TESTS = {
    "tcp_download": ["TCP download"],
    "tcp_upload": ["TCP upload"],
    "rrul": ["TCP download BE", "TCP download EF", "TCP upload BK", "TCP upload CS5", "TCP totals"],
}


@pytest.fixture
def served(lab, netdyno, tmp_path):
    need("flent")
    net = lab()
    for name in ("netperf", "netserver"):
        os.symlink(netdyno, tmp_path / name)
    net.server = net.b.spawn([tmp_path / "netserver", "-D"])
    poll("netserver's port", lambda: net.b.listening(12865), 10 * slow())
    net.b.rate("200mbit")
    net.a.rate("200mbit")
    return net


def flent(net, folder, test, seconds):
    done = net.a.run(["flent", test, "-H", net.b.ip4, "-l", str(seconds), "-s", str(STEP_S),
                      "-D", folder], cwd=folder, timeout=100 * slow(),
                     env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "WARNING" not in said and "ERROR" not in said, said
    files = glob.glob(f"{folder}/{test}-*.flent.gz")
    assert len(files) == 1, said
    with gzip.open(files[0], "rt", encoding="utf-8") as f:
        return json.load(f)["results"]


@pytest.mark.parametrize("test", TESTS)
def test_series(served, tmp_path, test):
    seconds = 5
    results = flent(served, tmp_path, test, seconds)
    for name in TESTS[test]:
        points = [v for v in results[name] if v is not None]
        assert len(points) > seconds / STEP_S / 2, (name, results[name])
        assert all(v >= 0 for v in points) and max(points) > 0, (name, points)
    one = [v for v in results.get("TCP download", results.get("TCP upload", [])) if v]
    assert not one or sum(one) / len(one) < 300, "of a cable that carries 200 Mbit/s"


def test_series_beside_a_flood(served, tmp_path):
    """Round trips while another client sends all it can."""
    flood = served.a.spawn([tmp_path / "netperf", "-H", served.b.ip4, "-l", "30", "-t",
                            "UDP_STREAM", "--", "-m", "1400", "-R", "1"])
    results = flent(served, tmp_path, "tcp_download", 5)
    assert sum(v is not None for v in results["TCP download"]) > 5, results
    flood.send_signal(2)
    assert flood.wait(30 * slow()) == 0, flood.describe(40)
