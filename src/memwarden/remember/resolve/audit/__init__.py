"""What is wrong in a namespace (F8): ``judge`` decides, ``auditor`` reads. Nothing here writes."""
