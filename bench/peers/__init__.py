"""
Gatepost beside what people would pick instead, in one run:

    make bench-peers                    install the peers into a cache, and measure all of them
    python -m bench.peers [--quick] [--write] [name ...]

`peer.py` has the list of peers, with the settings of each. `setup.py` starts what a peer needs, `measurements.py` does
the same to all of them through the programs in `programs`, and `page.py` writes the table into docs/peers.md. A peer
that cannot be installed, or does not do a thing, has a cell that says so.
"""
