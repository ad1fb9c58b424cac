"""Prints what an installed package needs, for pip, without local versions: the wheel asks for
PyTorch's build without CUDA, which the package index does not have; the usual build will do."""

import sys
from importlib.metadata import requires

from packaging.requirements import Requirement

for text in requires(sys.argv[1]):
    one = Requirement(text)
    if one.marker is not None and not one.marker.evaluate({"extra": ""}):
        continue
    extras = f"[{','.join(sorted(one.extras))}]" if one.extras else ""
    print(f"{one.name}{extras}{str(one.specifier).replace('+cpu', '')}")
