"""Measure all peers, or the named ones, and print the table or write it into docs/peers.md."""

import argparse
import sys
from collections.abc import Sequence

from bench.peers.measurements import FULL, QUICK, measure
from bench.peers.page import HEADINGS, format_row, write_findings
from bench.peers.peer import PEERS
from bench.support.docs_page import format_table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description="Measure Gatepost beside its peers.")
    parser.add_argument("name", nargs="*", help="words of the names of peers; without any, all of them")
    parser.add_argument("--quick", action="store_true", help="see whether they work; the figures are coarse")
    parser.add_argument("--write", action="store_true", help="write the table into docs/peers.md")
    options = parser.parse_args(arguments)
    for word in options.name:
        if not any(word in peer.name for peer in PEERS):
            parser.error(f"there is no peer {word!r}; use words of {', '.join(peer.name for peer in PEERS)}")
    if options.write and options.name:
        parser.error("--write needs all peers, in one run: leave out the names")
    peers = [peer for peer in PEERS if not options.name or any(word in peer.name for word in options.name)]
    effort = QUICK if options.quick else FULL
    findings = measure(peers, effort, lambda words: print(words, file=sys.stderr, flush=True))
    print(format_table(HEADINGS, (format_row(peer, findings[peer.name]) for peer in peers)))
    if options.write:
        write_findings(peers, findings, effort)


if __name__ == "__main__":
    main()
