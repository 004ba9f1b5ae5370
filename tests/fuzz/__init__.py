"""Everything that parses text from outside, fed with anything: no exception but ours, no write outside of the root."""
