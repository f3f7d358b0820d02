"""A proxy before models: programs that speak OpenAI's or Anthropic's protocol get memory without knowing of it."""
