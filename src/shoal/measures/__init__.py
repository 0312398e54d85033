"""Every anonymity, risk, diversity and loss number of the field, as plain functions over counts.

* groups: ``anonymity`` (k, sizes), ``missing`` (three rules), ``subsets`` and ``suda`` (which columns identify)
* secrets: ``diversity``, ``closeness``
* attackers: ``risk``, ``presence`` (k-map, δ-presence), ``individual`` (sampling weights), ``entropy_risk``
* costs: ``loss``, ``recoding`` and ``recoding_loss``, ``analyses`` (what an analyst sees)
* one subject under suspicion: ``entropy``, ``posterior``, ``finite``
* ``measurement``: all of a table in one result; ``registry``: every metric with its laws and its words
"""
