"""Evidence: chances that the store knows the subject, that it holds the answer, that an item bears on it."""
