"""The standards of agents on Hedera: HCS-1, HCS-10, HCS-11, HCS-14."""
