"""`make bench`: the figures of speed and scale, one after the other."""

from benchmarks import folder_scale, hooks, start_up

start_up.main()
hooks.main()
folder_scale.main()
