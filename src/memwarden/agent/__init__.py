"""One turn of an agent: what it gets before, what is kept after."""
