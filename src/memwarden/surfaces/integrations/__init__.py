"""memwarden in the frameworks that agents are written with: one module and one extra each."""
