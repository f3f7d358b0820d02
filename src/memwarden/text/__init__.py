"""What a text is, whoever asks: language, sentences, terms, flags, dates."""

# Number of the terms, flags and days of texts; stores make those of an earlier number anew when they are opened.
TERMS_VERSION = 4
