"""A pandera schema that refuses a frame whose classes are too small."""

import sys

import pandas as pd
import pandera.pandas as pa

from shoal.release.gate.pandera_check import k_anonymous

schema = pa.DataFrameSchema({"age_band": pa.Column(str), "sex": pa.Column(str)}, checks=k_anonymous(["age_band", "sex"], k=2))

good = pd.DataFrame({"age_band": ["30-39"] * 4, "sex": ["f", "f", "m", "m"]})
schema.validate(good)

bad = pd.DataFrame({"age_band": ["30-39"] * 4, "sex": ["f", "f", "m", "x"]})
try:
    schema.validate(bad)
except pa.errors.SchemaError as error:
    sys.stdout.write(f"refused: {error.check.error}\n")
