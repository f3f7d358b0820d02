"""The HTTP server (extra ``server``). Nothing is imported here, so that keys are managed without a web framework."""
