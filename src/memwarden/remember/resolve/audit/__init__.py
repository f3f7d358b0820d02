"""Audits a namespace: ``judge`` decides, ``auditor`` reads. Nothing here writes."""
