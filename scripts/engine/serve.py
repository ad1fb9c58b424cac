"""vLLM's `serve` command, with its arguments.

The command's own entry asks for the version of a distribution called `vllm`, which the CPU's wheel is
not, and the older entry serves HTTP by one process whatever it is told.
"""

import sys

from vllm.entrypoints.cli.serve import cmd_init
from vllm.utils.argparse_utils import FlexibleArgumentParser


def main() -> None:
    parser = FlexibleArgumentParser()
    command = cmd_init()[0]
    command.subparser_init(parser.add_subparsers(required=True))
    args = parser.parse_args(["serve", *sys.argv[1:]])
    command.validate(args)
    command.cmd(args)


# Its children import this file again.
if __name__ == "__main__":
    main()
