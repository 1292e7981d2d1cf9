# SPDX-License-Identifier: MIT
"""Rounds of a comparison: calibrated, alternating, void when the machine was not quiet; tables.

The speed of a machine may swing by two within minutes, so absolute figures are no gates: a figure
is the median over rounds of the ratio of two tools that ran one right after the other.
"""
import argparse
import datetime
import hashlib
import json
import os
import platform
import statistics
import sys
import time

import lib

CALIBRATION_LIMIT = 0.15  # relative change of a calibration loop over a round
FOREIGN_LIMIT = 0.15      # cores, mean over a run
SAMPLES = 9
DONE, MISSED, NOTHING = 0, 1, 77


def _fastest(work):
    best = None
    for _ in range(SAMPLES):
        start = time.perf_counter_ns()
        work()
        took = time.perf_counter_ns() - start
        best = took if best is None else min(best, took)
    return best


def _alu():
    hashlib.pbkdf2_hmac("sha256", b"fixed", b"work", 4000)


def _getppid(call=os.getppid):
    for _ in range(4000):
        call()


def calibrate(cpus):
    """Nanoseconds of fixed work on each CPU: the fastest of a few tries, so that a preemption is
    not taken for a slow machine."""
    home = os.sched_getaffinity(0)
    speed = {}
    try:
        for cpu in sorted(cpus):
            os.sched_setaffinity(0, {cpu})
            speed[f"alu cpu{cpu}"] = _fastest(_alu)
            speed[f"getppid cpu{cpu}"] = _fastest(_getppid)
    finally:
        os.sched_setaffinity(0, home)
    return speed


def _why_void(before, after, samples):
    """Why a round does not count; an empty list when it does."""
    why = []
    moved, what = max((abs(after[k] / before[k] - 1), k) for k in before)
    if moved > CALIBRATION_LIMIT:
        why.append(f"calibration moved by {100 * moved:.0f} % ({what})")
    for label, sample in samples.items():
        for key, name in (("foreign_cores", "foreign CPU"), ("steal_cores", "stolen CPU")):
            if sample.get(key, 0.0) > FOREIGN_LIMIT:
                why.append(f"{name} {sample[key]:.2f} cores beside {label}")
        if sample.get("void"):
            why.append(f"{label}: {sample['void']}")
    return why


class Rounds:
    """Runs rounds within the bounds that options() read from the command line."""

    def __init__(self, args):
        self.wanted = args.rounds
        self.keep_void = args.keep_void
        self.deadline = time.monotonic() + args.limit

    def run(self, title, tools, cpus):
        """tools: label -> function that makes one run and returns its figures, run in this order
        in every round. A round that is void is repeated, up to three times the wanted number in
        all. Return a record; its .rounds hold label -> figures."""
        record = {"case": title, "wanted": self.wanted, "rounds": [], "void": []}
        attempts = 0
        while len(record["rounds"]) < self.wanted and attempts < 3 * self.wanted:
            if time.monotonic() > self.deadline:
                record["stopped"] = "time limit"
                break
            attempts += 1
            before = calibrate(cpus)
            try:
                samples = {label: once() for label, once in tools.items()}
            except lib.Failed as e:
                record["stopped"] = str(e)
                break
            why = _why_void(before, calibrate(cpus), samples)
            if why:
                record["void"].append(why)
            if not why or self.keep_void:
                record["rounds"].append(samples)
            print(f"{title}: round {attempts}: {'; '.join(why) if why else 'good'}",
                  file=sys.stderr, flush=True)
        return record


def _median(values):
    return statistics.median(values) if values else None


def judge(record, metric, subject, peer=None, target=None, limit=None):
    """One row of the table. target: ('>=' or '<=', number) for the ratio subject/peer; limit: the
    same for the subject's own figure."""
    pairs = record["rounds"]
    row = {"case": record["case"], "metric": metric, "valid": len(pairs),
           "void": len(record["void"]), "stopped": record.get("stopped"),
           "subject": _median([p[subject][metric] for p in pairs])}
    if peer:
        row["peer"] = _median([p[peer][metric] for p in pairs])
        row["ratio"] = _median([p[subject][metric] / p[peer][metric] for p in pairs
                                if p[peer][metric]])
    wanted, figure = (target, row.get("ratio")) if target else (limit, row["subject"])
    row["target"] = f"{'ratio ' if target else ''}{wanted[0]} {wanted[1]:g}" if wanted else None
    row["met"] = None
    if wanted and figure is not None and len(pairs) >= record["wanted"]:
        row["met"] = figure >= wanted[1] if wanted[0] == ">=" else figure <= wanted[1]
    return row


def _figure(value):
    return "-" if value is None else f"{value:.4g}"


def markdown(rows, subject, peer):
    head = ["case", "figure", subject, *([peer, "ratio"] if peer else []), "target", "verdict",
            "rounds"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        verdict = {True: "met", False: "**missed**", None: "-"}[row["met"]]
        if row["met"] is None and row["target"]:
            verdict = "none: too few valid rounds"
        rounds = f"{row['valid']}" + (f", {row['void']} void" if row["void"] else "")
        if row["stopped"]:
            rounds += f", stopped: {row['stopped']}"
        cells = [row["case"], row["metric"], _figure(row["subject"])]
        if peer:
            cells += [_figure(row.get("peer")), _figure(row.get("ratio"))]
        cells += [row["target"] or "-", verdict, rounds]
        lines.append("| " + " | ".join(str(c).replace("|", "/").replace("\n", " ")
                                       for c in cells) + " |")
    return "\n".join(lines)


def facts():
    return {"time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "kernel": platform.release(), "cpus": len(os.sched_getaffinity(0)),
            "load": round(os.getloadavg()[0], 2)}


def options(purpose, seconds=2, places="same"):
    """The options that all comparisons have."""
    p = argparse.ArgumentParser(description=purpose)
    p.add_argument("--rounds", type=int, default=5, help="valid rounds wanted (default 5)")
    p.add_argument("--seconds", type=int, default=seconds,
                   help=f"measured time of a run (default {seconds})")
    p.add_argument("--place", default=places, choices=lib.PLACES,
                   help=f"both ends on one CPU, on two, or left to the scheduler ({places})")
    p.add_argument("--cc", default="cubic", help="congestion control of all tools (cubic)")
    p.add_argument("--limit", type=float, default=600.0,
                   help="seconds after which no further round begins (default 600)")
    p.add_argument("--keep-void", action="store_true",
                   help="count void rounds too; the figures mean nothing then")
    p.add_argument("--json", metavar="FILE", help="write everything that was measured")
    p.add_argument("--subject", default="netdyno", help=argparse.SUPPRESS)
    return p


def parse(parser):
    args = parser.parse_args()
    if args.rounds < 1 or args.seconds < 1:
        parser.error("--rounds and --seconds begin at 1")
    return args


def report(title, args, rows, records, **more):
    """Print the table, write the JSON; return the exit code."""
    about = {**facts(), "place": args.place, "cc": args.cc, "seconds": args.seconds, **more}
    print(f"### {title}\n")
    print(", ".join(f"{key} {'; '.join(value) if isinstance(value, list) else value}"
                    for key, value in about.items()) + "\n")
    print(markdown(rows, more.get("subject", args.subject), more.get("peer")))
    if args.keep_void and any(row["void"] for row in rows):
        print("\nVoid rounds are counted: no result.")
    print(flush=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"title": title, "about": about, "rows": rows, "records": records}, f,
                      indent=1)
            f.write("\n")
    if any(row["met"] is False and not (args.keep_void and row["void"]) for row in rows):
        return MISSED
    return DONE if any(row["valid"] for row in rows) else NOTHING


def guard(main):
    """Run a comparison's main(): a Skip is one sentence and exit code 77, a failure 1."""
    lib.tidy_exit()
    try:
        code = main()
    except lib.Skip as e:
        print(f"skipped: {e}")
        code = NOTHING
    except lib.Failed as e:
        print(f"failed: {e}", file=sys.stderr)
        code = MISSED
    sys.exit(code)
