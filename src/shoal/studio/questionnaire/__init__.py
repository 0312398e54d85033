"""Questionnaire: how identifying will the questions be, before anybody is asked."""
