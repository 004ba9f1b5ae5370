"""`make bench`: the figures of speed and scale, one after the other; it takes some minutes."""

from benchmarks import folder_scale, hooks, schema_size, start_up, store_scale

schema_size.main()
start_up.main()
hooks.main()
store_scale.main()
folder_scale.main()
