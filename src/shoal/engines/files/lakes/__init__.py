"""Lake tables: Delta and Iceberg, in folders and object stores, read at one version through their own libraries."""
