"""counterpoint learns better decisions from logs, and says whether they can be believed.

Examples:
    >>> import counterpoint as cp
    >>> moons = cp.simulate("moons", rows=3000, seed=1)
    >>> roles = dict(context=["x0", "x1"], reward="reward", propensity="propensity")
    >>> learner = cp.Learner(seed=1).fit(moons, "action", **roles)
    >>> learner.certificate_.verdict
    'deploy'
    >>> actions, densities = learner.sample({"x0": [0.5, 1.0], "x1": [0.2, -0.1]}, seed=7)  # the next log

Statistics are computed by the Rust library of the same name, which the command line uses too: the same recipe and seed give the same
policy and certificate, byte for byte.
"""

from ._counterpoint import __version__
from .convert import from_obp, from_vw, to_obp, to_vw
from .errors import Error, FileError, PropensityWarning, Unsupported
from .judge import certify, compare, describe, evaluate, monitor, plan
from .learn import Learner, Selector
from .log import Columns, Log
from .policy import Policy
from .results import Certificate, Comparison, Description, Estimates, Plan, Segments, Watch
from .worlds import simulate

__all__ = [
    "Certificate",
    "Columns",
    "Comparison",
    "Description",
    "Error",
    "Estimates",
    "FileError",
    "Learner",
    "Log",
    "Plan",
    "Policy",
    "PropensityWarning",
    "Segments",
    "Selector",
    "Unsupported",
    "Watch",
    "__version__",
    "certify",
    "compare",
    "describe",
    "evaluate",
    "from_obp",
    "from_vw",
    "monitor",
    "plan",
    "simulate",
    "to_obp",
    "to_vw",
]
