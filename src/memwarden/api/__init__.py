"""The public API: wardens, scopes and their handles."""
