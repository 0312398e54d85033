{#
  A generic dbt test: every combination of the quasi-identifiers occurs at least k times.

      models:
        - name: visits_public
          tests:
            - k_anonymity:
                quasi_identifiers: [age_band, sex, region]
                k: 5

  With unit, people are counted instead of rows. A failing test returns one row of counts, never the values of a class:
  the rarest people must not end up in a build log. NULL is a value of its own. Databases whose collation folds case or
  trailing blanks (MySQL, SQL Server) need a binary collation on the columns for an exact answer; 'shoal check' does that by itself.
#}
{% test k_anonymity(model, quasi_identifiers, k, unit=none) %}
{%- if quasi_identifiers is string or quasi_identifiers | length == 0 -%}
  {{ exceptions.raise_compiler_error("k_anonymity: quasi_identifiers must be a list with at least one column") }}
{%- endif -%}
{%- if k is not number or k < 2 -%}
  {{ exceptions.raise_compiler_error("k_anonymity: k must be a whole number of at least 2") }}
{%- endif -%}
with classes as (
    select {% if unit is not none %}count(distinct {{ adapter.quote(unit) }}){% else %}count(*){% endif %} as members
    from {{ model }}
    group by {% for column in quasi_identifiers %}{{ adapter.quote(column) }}{% if not loop.last %}, {% endif %}{% endfor %}
),
small as (
    select count(*) as classes_below, sum(members) as members_below, min(members) as smallest_class
    from classes
    where members < {{ k }}
)
select classes_below, members_below, smallest_class, {{ k }} as k_required
from small
where classes_below > 0
{% endtest %}
