"""What a text is, whoever asks: language, sentences, terms, flags, dates."""
