"""Every anonymity, risk, diversity and loss number of the field, as plain functions over counts.

* ``classes``: sizes and k, three rules for missing values, diversity, closeness, risk, presence, sampling weights, entropy
* ``columns``: which sets of columns identify, SUDA, and which role a column might have
* ``events``: people with many records: what a few known ones reveal
* ``utility``: what classes and recodings cost, and what an analyst sees before and after
* ``observer``: one subject under suspicion: entropies, posteriors, small explicit models
* ``result``: all numbers of a table, checked, explained and written as JSON
* ``metrics``: the registry: every metric with its laws and its words
"""
