"""The example: a survey among staff that asks too much."""

EXAMPLE = """\
title: Staff survey
population: 3400
respondents: 1200
target: 0.05
questions:
  sex: {answers: {woman: 0.52, man: 0.46, another: 0.02}, text: Are you a woman or a man?}
  age: {range: [18, 67], band: 5, unit: year, text: How old are you?}
  department: {values: 14, text: In which department do you work?}
  service:
    answers: {under 2: 0.28, 2 to 4: 0.24, 5 to 9: 0.22, 10 to 19: 0.16, 20 and more: 0.1}
    ordered: true
    source: guess
    text: How many years have you worked here?
  contract: {answers: {permanent: 0.7, temporary: 0.22, on call: 0.08}, source: guess, text: What contract do you have?}
"""
