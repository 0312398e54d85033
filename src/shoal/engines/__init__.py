"""Tables wherever they live: open, COUNT, RECODE, and the quirks of each engine; nothing else.

``shoal.engines.open.open`` gives a :class:`~shoal.engines.table.Table`; everything above this room
speaks to that. Each module loads its heavy parts on first use.
"""
