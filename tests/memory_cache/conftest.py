"""Settings of this room's tests."""

from hypothesis import settings

# A busy machine is not a failure: no example is judged by the clock.
settings.register_profile("no clock", deadline=None)
settings.load_profile("no clock")
