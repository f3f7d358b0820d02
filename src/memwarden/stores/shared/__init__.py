"""What every engine shares: decisions and records without an engine in them."""
