"""From a plan to a release folder, step by step.

recode (the data are written) -> count_again (and judged) -> attacks -> certify (certificate, report, signature, verify) ->
release (the folder gets its name)
"""
