"""Reading of texts: language, sentences, question words, terms, flags, dates. `lexicon/` holds words of languages."""

# Number of the terms, flags and days of texts. Stores make those of an earlier number anew when they are opened.
TERMS_VERSION = 7
