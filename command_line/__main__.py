"""`python -m command_line`: the command, where it is not installed as a script."""

import sys

from command_line.main import main

sys.exit(main())
