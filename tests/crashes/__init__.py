"""Real processes, killed with SIGKILL at random moments: what was acknowledged is there, and the cache is whole."""
