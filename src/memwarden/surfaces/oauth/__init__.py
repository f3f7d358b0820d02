"""OAuth 2.1 for MCP over HTTP: a person gives a hosted assistant tokens that rest on one of their keys."""
