"""Intake: people recognised by what is known of them, in spite of typing errors; what is not sure waits for a clerk."""
