"""``memwarden doctor``: is a deployment well, and does it keep apart what has to stay apart."""
