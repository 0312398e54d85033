"""The holder's side: what leaves the building."""
