"""What people do in a vault, by role; every action runs in the frame that checks, counts, logs and commits it."""
