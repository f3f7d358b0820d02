"""The web page at ``/ui/``: what is remembered, why it was used, and how to change it."""
