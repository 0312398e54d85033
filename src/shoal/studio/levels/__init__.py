"""The editor of a column's levels: bands, parts of dates, codes by their structure, groups by name, a file of ARX."""
