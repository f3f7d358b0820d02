"""Transfer of whole namespaces and stores: pages, migration, backup."""
