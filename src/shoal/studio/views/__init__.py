"""What pages show of counts: each function runs in a counting process and gives plain values and charts."""
