"""Objects that are not what they seem: refused in words with a remedy, or read as what they say; nothing is guessed in silence."""

import datetime
import decimal
import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import counterpoint as cp

FIT = {"policy": "linear", "starts": 1, "proximal_steps": 0, "certify": False}
N = 600


def rows():
    """A log as a dictionary of columns."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=N)
    action = 0.5 * x + rng.normal(size=N)
    density = np.exp(-0.5 * (action - 0.5 * x) ** 2) / np.sqrt(2 * np.pi)
    return {"x": x, "action": action, "reward": -((action - x) ** 2), "propensity": density}


ROLES = {"context": ["x"], "action": "action", "reward": "reward", "propensity": "propensity"}


def days(unit):
    """Dates as NumPy holds them."""
    return (np.datetime64("2024-01-01") + np.arange(N)).astype(f"datetime64[{unit}]")


class Word(str):
    """A word of a type of its own."""


class Real(float):
    """A number of a type of its own."""

    def __str__(self):
        return "seven"


class Sly:
    """It has a number, and no words."""

    def __float__(self):
        return 1.0


def some(*values):
    """A column of any objects."""
    column = np.empty(N, dtype=object)
    for i in range(N):
        column[i] = values[i % len(values)]
    return column


# what a context must not be
REFUSED = {
    **{f"datetime64[{unit}]": lambda unit=unit: days(unit) for unit in ("Y", "D", "s", "ms", "us", "ns")},
    **{f"timedelta64[{unit}]": lambda unit=unit: np.arange(N).astype(f"timedelta64[{unit}]") for unit in ("D", "ms", "ns")},
    "timedelta64 without a unit": lambda: np.arange(N).astype("timedelta64"),
    "a date that is none": lambda: np.where(np.arange(N) == 5, np.datetime64("NaT"), days("ns")),
    "dates of Python": lambda: some(datetime.date(2024, 1, 1), datetime.date(2024, 2, 1)),
    "times of Python": lambda: some(*[datetime.datetime(2024, 1, 1 + i, 12) for i in range(20)]),
    "spans of Python": lambda: some(*[datetime.timedelta(days=i) for i in range(20)]),
    "complex numbers": lambda: np.arange(N) * 1j,
    "complex numbers among objects": lambda: some(1j, 2.0),
    "records": lambda: np.zeros(N, dtype=[("a", float), ("b", float)]),
    "bytes that are no text": lambda: np.array([b"\xff", b"\xfe"] * (N // 2)),
    "half of a pair of surrogates": lambda: some("\ud800", "b"),
    "lists": lambda: some([1.0], [2.0, 3.0]),
    "tuples": lambda: some((1.0, 2.0)),
    "dictionaries": lambda: some({"a": 1}),
    "sets": lambda: some({1, 2}),
    "functions": lambda: some(len),
    "objects": lambda: some(object()),
    "objects that are no numbers though they could be": lambda: some(Sly()),
    "arrays in an array": lambda: some(np.zeros(2)),
    "a masked array": lambda: np.ma.masked_array(rows()["x"], mask=np.arange(N) % 7 == 0),
    "NaN": lambda: np.where(np.arange(N) == 3, np.nan, rows()["x"]),
    "infinity": lambda: np.where(np.arange(N) == 3, np.inf, rows()["x"]),
    "None among numbers": lambda: some(1.0, None, 2.0),
    "an integer beyond a float": lambda: some(1, 10**400),
    "1e308": lambda: np.where(np.arange(N) == 3, 1e308, rows()["x"]),
    "long double beyond a float": lambda: np.where(np.arange(N) == 3, np.longdouble("1e4000"), rows()["x"].astype(np.longdouble)),
    "numbers with a comma": lambda: np.array([f"{v:.3f}".replace(".", ",") for v in rows()["x"]]),
    "three dimensions": lambda: np.zeros((N, 1, 1)),
    "two columns in one": lambda: np.zeros((N, 2)),
    "one value": lambda: 1.5,
    "a word": lambda: "abc",
    "too few": lambda: rows()["x"][:-1],
    "too many": lambda: np.arange(N + 1.0),
    "none at all": lambda: [],
    "nothing": lambda: None,
    "a generator": lambda: (v for v in rows()["x"]),
    "a set": lambda: set(rows()["x"]),
}

# what a context may be: the same numbers in another dress
SAME = {
    "read-only": lambda x: np.require(x, requirements="C").view().__class__(x.shape, x.dtype, x.tobytes()),
    "big end first": lambda x: x.astype(">f8"),
    "every second of an array": lambda x: np.repeat(x, 2)[::2],
    "turned round": lambda x: x[::-1].copy()[::-1],
    "a column of a matrix": lambda x: np.column_stack([x, x]).T.copy().T[:, 0],
    "broadcast rows": lambda x: np.lib.stride_tricks.as_strided(x, x.shape, x.strides),
    "unaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), dtype=np.uint8)[1:].view(np.float64),
    "a memory view": lambda x: memoryview(x),
    "a list": lambda x: x.tolist(),
    "a tuple": lambda x: tuple(x.tolist()),
    "objects": lambda x: x.astype(object),
    "floats of a type of their own": lambda x: [Real(v) for v in x],
    "long doubles": lambda x: x.astype(np.longdouble),
    "text": lambda x: [repr(float(v)) for v in x],
    "bytes": lambda x: np.array([repr(float(v)).encode() for v in x]),
    "bytes among objects": lambda x: np.array([repr(float(v)).encode() for v in x], dtype=object),
    "text of a type of its own": lambda x: [Word(repr(float(v))) for v in x],
    "decimals": lambda x: [decimal.Decimal(repr(float(v))) for v in x],
    "a column of one": lambda x: x.reshape(-1, 1),
    "np.matrix": lambda x: np.asmatrix(x).T,
    "a masked array without a mask": lambda x: np.ma.masked_array(x),
}


def attempt(work, *errors):
    """What comes of it, and the error where there is one."""
    try:
        return work(), None
    except (cp.Error, *errors) as e:
        return None, e


def fitted(table, **roles):
    return cp.Learner(**FIT).fit(table, **{**ROLES, **roles}).policy_.to_json()


@pytest.fixture(scope="module")
def plain():
    return fitted(rows())


@pytest.mark.parametrize("what", REFUSED)
def test_columns_that_are_no_numbers_are_refused(what):
    with pytest.raises((cp.Error, TypeError)) as refused:
        cp.Log({**rows(), "x": REFUSED[what]()}, **ROLES)
    if isinstance(refused.value, cp.Error):
        assert refused.value.remedy, str(refused.value)


@pytest.mark.parametrize("what", [w for w in REFUSED if "among" not in w and w not in ("too few", "too many")])
def test_outcomes_that_are_no_numbers_are_refused(what):
    with pytest.raises((cp.Error, TypeError)) as refused:
        cp.Log({**rows(), "reward": REFUSED[what]()}, **ROLES)
    if isinstance(refused.value, cp.Error):
        assert refused.value.remedy, str(refused.value)


@pytest.mark.parametrize("what", SAME)
def test_the_same_numbers_in_another_dress_are_the_same_log(what, plain):
    dressed = {name: SAME[what](values) for name, values in rows().items()}
    assert fitted(dressed) == plain


@pytest.mark.parametrize("value", [0.0, -0.0, -1.0, -5e-324, np.nan, np.inf, -np.inf, 1e308, None, "x", True])
def test_densities_that_are_none_are_refused(value):
    table = rows()
    column = table["propensity"].astype(object)
    column[7] = value
    if value is True or value == 1e308:
        cp.Log({**table, "propensity": column}, **ROLES, drop_invalid=True)
        return
    with pytest.raises(cp.Error) as refused:
        cp.Log({**table, "propensity": column}, **ROLES)
    assert refused.value.remedy
    assert refused.value.row in (8, None)
    assert cp.Log({**table, "propensity": column}, **ROLES, drop_invalid=True).rows == N - 1


def test_strange_columns_do_not_matter_where_nobody_asks(plain):
    table = {**rows(), "tags": some([1], [2]), "lasted": np.arange(N).astype("timedelta64[ns]"), "shape": np.zeros(N, complex)}
    assert fitted(table) == plain
    policy = cp.Policy.from_json(plain)
    assert np.array_equal(policy.mean(table), policy.mean(rows()))
    for asked in (["x", "tags"], "*", ["x", "la*"]):
        with pytest.raises(cp.Error) as refused:
            cp.Log(table, **{**ROLES, "context": asked})
        assert refused.value.column in ("tags", "lasted", "shape")
    assert cp.Log(table, **{**ROLES, "context": "*"}, exclude=["tags", "lasted", "shape"]).rows == N
    with pytest.raises(cp.Error) as refused:
        cp.Log(table, **{**ROLES, "reward": "lasted"})
    assert (refused.value.column, "unit" in refused.value.remedy) == ("lasted", True)
    for role in ("reward", "propensity", "action", "cluster"):
        with pytest.raises(cp.Error):
            cp.Log(rows(), **{**ROLES, role: table["tags"]})


def test_names_that_are_one_name_are_refused():
    table = rows()
    for twice in ({**table, 1: table["x"], "1": -table["x"]}, {**table, Word("y"): table["x"], 2: table["x"], "2": table["x"]}):
        with pytest.raises(cp.Error, match="same name") as refused:
            cp.Log(twice, **ROLES)
        assert refused.value.remedy


def test_frames_of_pandas(plain):
    pd = pytest.importorskip("pandas")
    table = rows()
    frame = pd.DataFrame(table)
    assert fitted(frame.set_index(pd.Index(np.arange(N)[::-1]))) == plain
    assert fitted(frame.set_index(pd.MultiIndex.from_arrays([np.arange(N), np.arange(N)]))) == plain
    assert fitted(frame.astype(object)) == plain
    assert fitted(frame.astype("Float64")) == plain
    assert fitted(frame.assign(x=frame["x"].map(repr))) == plain
    for bad in [
        pd.to_datetime(frame.index, unit="D"),
        pd.to_timedelta(frame.index, unit="h"),
        pd.date_range("2024", periods=N, tz="Europe/Zurich"),
        pd.period_range("2024", periods=N),
        pd.Series([None, 1.0] * (N // 2), dtype=object),
        pd.Series([pd.NA, 1] * (N // 2), dtype="Int64"),
        pd.Series([1j] * N),
        pd.Series(pd.arrays.IntervalArray.from_breaks(np.arange(N + 1.0))),
        pd.Series([{"a": 1}] * N),
    ]:
        with pytest.raises(cp.Error) as refused:
            cp.Log(frame.assign(x=bad), **ROLES)
        assert refused.value.remedy, str(refused.value)
    with pytest.raises(cp.Error, match="same name"):
        cp.Log(pd.concat([frame, frame[["x"]]], axis=1), **ROLES)
    with pytest.raises(cp.Error):
        cp.Log(frame.iloc[:0], **ROLES)
    with pytest.raises(cp.Error):
        cp.Log(pd.concat({"a": frame}, axis=1), **ROLES)
    sparse = frame.assign(x=pd.arrays.SparseArray(frame["x"]))
    assert fitted(sparse) == plain


def test_tables_of_arrow(plain):
    pa = pytest.importorskip("pyarrow")
    table = pa.table(rows())
    x = table["x"].combine_chunks()
    assert fitted(pa.concat_tables([table.slice(0, 1), table.slice(1, 0), table.slice(1)])) == plain
    assert fitted(table.set_column(0, "x", x.dictionary_encode())) == plain
    assert fitted(pa.concat_tables([table.slice(400), table]).slice(N - 400)) == plain
    for bad in [
        pa.nulls(N),
        pa.array([None, *x.to_pylist()[1:]]),
        pa.array([[v] for v in x.to_pylist()]),
        pa.StructArray.from_arrays([x], ["x"]),
        pa.array(np.arange(N), pa.timestamp("ns")),
        pa.array(np.arange(N), pa.duration("s")),
        pa.array([b"1"] * N),
        pa.UnionArray.from_sparse(pa.array([0] * N, pa.int8()), [x]),
        pa.DictionaryArray.from_arrays(pa.array([None, 0] * (N // 2), pa.int8()), pa.array([1.0])),
    ]:
        with pytest.raises(cp.Error) as refused:
            cp.Log(table.set_column(0, "x", bad), **ROLES)
        assert refused.value.remedy, str(refused.value)
    with pytest.raises(cp.Error):
        cp.Log(pa.Table.from_arrays([*table.columns, x], [*table.column_names, "x"]), **ROLES)
    with pytest.raises(cp.Error):
        cp.Log(table.slice(0, 0), **ROLES)

    def failing():
        yield table.to_batches()[0]
        raise ValueError("the source went away")

    with pytest.raises(cp.Error, match="went away") as refused:
        cp.Log(pa.RecordBatchReader.from_batches(table.schema, failing()), **ROLES)
    assert refused.value.remedy
    reader = table.to_reader()
    assert cp.Log(reader, **ROLES).rows == N
    with pytest.raises((cp.Error, ValueError)):
        cp.Log(reader, **ROLES)  # it has been read


def test_frames_of_polars(plain):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(rows())
    assert fitted(frame) == fitted(frame.lazy()) == plain
    for bad in [
        pl.Series([None] * N),
        pl.Series(np.arange(N)).cast(pl.Date),
        pl.Series([[1.0]] * N),
        pl.Series([{"a": 1.0}] * N),
        pl.Series([b"1"] * N),
    ]:
        with pytest.raises(cp.Error) as refused:
            cp.Log(frame.with_columns(bad.alias("x")), **ROLES)
        assert refused.value.remedy, str(refused.value)


def test_streams_that_lie(plain):
    class NoCapsule:
        columns = ("x",)
        schema = None

        def __arrow_c_stream__(self, requested_schema=None):
            return 7

    class Raises(NoCapsule):
        def __arrow_c_stream__(self, requested_schema=None):
            raise RuntimeError("not today")

    for lying in (NoCapsule(), Raises()):
        with pytest.raises((cp.Error, TypeError, RuntimeError)):
            cp.Log(lying, **ROLES)
    for odd in (7, object(), "", [], {}, np.zeros(0), np.zeros((0, 2)), b"log.csv", [1, "x"], np.zeros((3, 0))):
        with pytest.raises((cp.Error, TypeError)):
            cp.Log(odd, **ROLES)


def test_policies_that_were_damaged_on_the_way(plain):
    policy = cp.Policy.from_json(plain)
    kept = pickle.dumps(policy)
    assert pickle.loads(kept) == policy
    spoiled = 0
    for at in range(0, len(kept), 37):
        bytes_ = bytearray(kept)
        bytes_[at] ^= 4
        other, error = attempt(lambda bytes_=bytes_: pickle.loads(bytes(bytes_)), Exception)
        spoiled += error is not None
        assert not isinstance(other, cp.Policy) or other == policy, at  # never another policy
    assert spoiled > 10
    for text in (
        "",
        "{}",
        "null",
        "[]",
        plain[: len(plain) // 2],
        plain + plain,
        plain.replace('"x"', '"y"'),
        "[" * 100_000,
        "\0",
        "\ud800",
    ):
        with pytest.raises((cp.Error, UnicodeEncodeError)):
            cp.Policy.from_json(text)


def test_contexts_that_a_policy_cannot_act_in(plain):
    policy = cp.Policy.from_json(plain)
    for bad in (np.nan, np.inf, 1e308, "Rome", None, 1j, np.datetime64("2024-01-01", "ns"), np.timedelta64(5, "ns")):
        column = np.array([0.0, bad]) if isinstance(bad, float) else np.array([bad, bad])
        for ask in (policy.mean, policy.sample):
            with pytest.raises(cp.Error) as refused:
                ask({"x": column})
            assert refused.value.remedy, str(refused.value)
    with pytest.raises(cp.Error):
        policy.mean({"x": np.ma.masked_array([0.0, 1.0], mask=[0, 1])})
    for seed in (-1, 2**64, 1.5, "7", np.nan):
        with pytest.raises((cp.Error, TypeError, ValueError, OverflowError)):
            policy.sample({"x": [0.0]}, seed=seed)
    for actions in ([np.nan], [np.inf], ["a"], [[1.0, 2.0]], [], [1j], [np.timedelta64(1, "ns")]):
        found, error = attempt(lambda actions=actions: policy.log_density({"x": [0.0]}, actions), ValueError)
        assert error is not None or not np.isfinite(found).any(), (actions, found)


def test_threads_at_once_give_what_one_gives(plain):
    found, failed = [], []

    def work():
        try:
            found.append(fitted(rows()))
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failed
    assert found == [plain] * 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_behind_a_fit_does_not_hang(plain, tmp_path):
    script = """
import os, sys
sys.path.insert(0, sys.argv[1])
from test_attacks import fitted, rows
here = fitted(rows())
child = os.fork()
if child == 0:
    os._exit(0 if fitted(rows()) == here else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, os.path.dirname(__file__)], timeout=120, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interruption_ends_a_fit(tmp_path):
    script = """
import sys, threading, os, signal, time
import counterpoint as cp
moons = cp.simulate("moons", rows=200_000, seed=1)
def late():
    time.sleep(1.0)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=late, daemon=True).start()
try:
    roles = dict(context=["x0", "x1"], reward="reward", propensity="propensity")
    cp.Learner(policy="clp", starts=50, seed=1, certify=False).fit(moons, "action", **roles)
except KeyboardInterrupt:
    sys.exit(42)
sys.exit(1)
"""
    done = subprocess.run([sys.executable, "-c", script], timeout=200, capture_output=True, text=True)
    assert done.returncode in (42, -signal.SIGINT), (done.returncode, done.stderr[-500:])


def test_columns_that_change_while_they_are_read():
    table = rows()
    stop = threading.Event()

    def scribble():
        while not stop.is_set():
            table["x"][:] = np.random.default_rng().normal(size=N)

    thread = threading.Thread(target=scribble)
    thread.start()
    try:
        for _ in range(20):
            assert cp.Log(table, **ROLES).rows == N
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("name", ["\0", "\x1b[31m", "a\nb", "", " ", "fit", "x" * 100_000, "\ud800", "é", "e\u0301"])
def test_names_of_columns(name):
    table = rows()
    table[name] = table.pop("x")
    log, error = attempt(lambda: cp.Log(table, **{**ROLES, "context": [name]}))
    said = repr(log) if error is None else str(error)
    assert "\x1b" not in said
    assert error is None or len(said) < 10_000
    assert error is not None or log.rows == N


@pytest.mark.parametrize("field", ["starts", "anchors", "cap", "seed", "std_floor", "max_iterations", "policy", "estimator", "family"])
@pytest.mark.parametrize("value", [-1, 0, 1e308, np.nan, np.inf, "x", [], {}, 2**70, True, 1.5, np.float64(2.5), b"clp", object()])
def test_settings_that_are_none(field, value):
    quick = {"policy": "constant", "starts": 1, "proximal_steps": 0, "max_iterations": 3, "certify": False}
    made = lambda: cp.Learner(**{**quick, field: value}).fit(rows(), **ROLES)  # noqa: E731
    learner, error = attempt(made, TypeError, ValueError, OverflowError)
    assert str(error) if learner is None else np.isfinite(learner.predict({"x": [0.0]})).all()
