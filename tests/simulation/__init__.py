"""The whole system under one seed: devices with real caches and the real engine, one simulated store, virtual time.

    python -m tests.simulation --seeds 0-2000 --profile all

A run is a script (`script`), drawn from the seed, carried out in a world (`world`) of devices (`devices`), stores
(`stores`), sync clients (`sync_client`) and people (`people`). The book (`book`) knows every line that anybody ever
saved; `invariants` are checked while the world runs and when it has come to rest. `shrink` makes a failing script
short, `mutants` are broken engines that have to be found out.
"""
