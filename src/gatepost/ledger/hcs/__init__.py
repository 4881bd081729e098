"""
The standards of agents on Hedera: HCS-1, HCS-10, HCS-11, HCS-14. Pure: it imports records only. Each file is one
standard; HCS-10 has its messages in one file and the reading of what others post in another.
"""
