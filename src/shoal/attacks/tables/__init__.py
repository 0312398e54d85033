"""Attacks on any table, perturbed or synthetic, with people who were in its making and people who were not.

Everything is tried twice: on records of the original and on a control group that the table was not made from. What works on both
is what the table reveals about everybody; what works better on the original is what it reveals about the people in it.

Source   Giomi, Boenisch, Wehmeyer and Tasnádi 2023 (singling out, linkability, inference with a control group); Zhao et al. 2021
         (distance to the closest record); Hayes et al. 2019 (membership by nearest neighbour)
"""
