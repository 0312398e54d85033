"""Shoal in other tools' words: functions, classes and fixtures by the names that their users know; files say what differs."""
