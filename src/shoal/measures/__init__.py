"""Every anonymity, risk, diversity and loss number of the field, as plain functions over counts.

``anonymity`` (k, group sizes), ``missing`` (three rules), ``diversity``, ``closeness``, ``risk``, ``presence`` (k-map, δ-presence), ``individual``
(sampling weights), ``entropy_risk``, ``subsets`` and ``suda`` (which columns identify), ``loss``, ``recoding`` and ``recoding_loss``
(what a recoding cost), ``analyses`` (what an analyst sees), ``entropy``, ``posterior`` and ``finite`` (one subject under suspicion),
``measurement`` (all of a table in one result), ``registry`` (every metric with its laws and its explanation).
"""
