"""A group of people and a distribution over cells: who is unique?"""
