"""Readers and senders of Telegram bots."""
