"""Date recognition: the days that a text names, in every language that is read."""
