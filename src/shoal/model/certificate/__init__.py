"""The certificate of a release as frozen typed values, with one reader, one writer and a published JSON schema."""
