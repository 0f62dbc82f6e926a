"""Tables and columns of other packages, as the native part takes them; nothing here looks at a value's meaning."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import Error

Column = npt.NDArray[np.float64] | npt.NDArray[np.int64] | list[str | None]


@dataclass
class Parts:
    """A table for the native part: something with an Arrow stream, or a matrix with its names; and further columns."""

    stream: Any = None
    matrix: tuple[list[str], npt.NDArray[np.float64]] | None = None
    columns: list[tuple[str, Column]] = field(default_factory=list)
    # columns that hold what is no value of a row, which is no matter as long as nobody asks for them
    strange: dict[str, Error] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of the columns, as far as Python knows them."""
        own = [] if self.matrix is None else self.matrix[0]
        return own + [name for name, _ in self.columns]

    def check(self, asked: Iterable[str], but: Iterable[str] = ()) -> None:
        """Refuses columns that are asked for, by names or patterns, and hold what is no value of a row."""
        left_out = list(but)
        for pattern in asked:
            for name, error in self.strange.items():
                if name == pattern or (fnmatchcase(name, pattern) and not any(fnmatchcase(name, p) for p in left_out)):
                    raise error


def is_path(X: Any) -> bool:
    """Whether X names files: a path, a pattern, or several of them."""
    if isinstance(X, (str, os.PathLike)):
        return True
    return isinstance(X, (list, tuple)) and bool(X) and all(isinstance(x, (str, os.PathLike)) for x in X)


def paths(X: Any) -> list[str]:
    """The paths that X names."""
    return [os.fspath(x) for x in ([X] if isinstance(X, (str, os.PathLike)) else X)]


def table(X: Any, names: Sequence[str] | None = None) -> Parts:
    """A table of any kind. A matrix without names takes `names`, else x0, x1 and so on."""
    if X is None:
        return Parts()
    if hasattr(X, "collect") and hasattr(X, "lazy"):
        X = X.collect()  # a LazyFrame of Polars
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise Error(f"a sparse matrix ({type(X).__name__}) is not read", remedy="X.toarray()")
    if isinstance(X, Mapping):
        return _columns(X.items())
    if _is_pandas(X):
        return _pandas(X)
    for give in ("__arrow_c_stream__", "to_arrow_table", "fetch_arrow_table"):
        if hasattr(X, give):
            return Parts(stream=X if give == "__arrow_c_stream__" else getattr(X, give)())
    array = np.asarray(_unmasked(X))
    if array.ndim == 0:
        remedy = "NumPy, pandas, Polars, PyArrow, DuckDB, a dictionary of columns, or a path"
        raise Error(f"{type(X).__name__} is not read as a table", remedy=remedy)
    return _matrix(array, names)


def names_of(parts: Parts) -> list[str]:
    """The names of the columns of a table."""
    X = parts.stream
    if X is None:
        return parts.names
    columns = getattr(X, "columns", None)
    if columns is None or callable(columns):
        columns = X.schema.names
    elif not all(isinstance(c, str) for c in columns):
        columns = X.schema.names if hasattr(X, "schema") else [str(c) for c in columns]
    return [str(c) for c in columns]


def _is_pandas(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "pandas" and hasattr(X, "columns")


def _pandas(X: Any) -> Parts:
    if len(set(map(str, X.columns))) < len(X.columns):
        raise Error("two columns of the DataFrame have the same name", remedy="rename one of them")
    if hasattr(X, "__arrow_c_stream__") and importlib.util.find_spec("pyarrow") and not _objects(X):
        return Parts(stream=X.reset_index(drop=True))
    return _columns((name, X[name]) for name in X.columns)


def _objects(X: Any) -> bool:
    """Whether a column holds what Arrow may refuse or take for numbers: objects, complex numbers, periods of time, sparse columns."""
    return any(str(dtype) == "object" or str(dtype).startswith(("complex", "period", "Sparse")) for dtype in X.dtypes)


def _matrix(X: npt.NDArray[Any], names: Sequence[str] | None) -> Parts:
    flat = X.ndim == 1
    if flat:
        X = X.reshape(-1, 1)
    if X.ndim != 2:
        raise Error(f"X has {X.ndim} dimensions", remedy="one row a context: an array of two dimensions, or a table")
    names = [f"x{i}" for i in range(X.shape[1])] if names is None else list(names)
    if len(names) != X.shape[1]:
        shape = "Reshape your data: X.reshape(1, -1) is one row" if flat else f"the contexts are {', '.join(names)}"
        # the words of scikit-learn, which its users know
        raise Error(f"X has {X.shape[1]} features, but Policy is expecting {len(names)} features as input", remedy=shape)
    if X.dtype.kind in "fiub":
        return Parts(matrix=([_name(name) for name in names], _aligned(np.asarray(X, dtype=np.float64))))
    return _columns((name, X[:, i]) for i, name in enumerate(names))


def _columns(named: Iterable[tuple[Any, Any]]) -> Parts:
    """Columns with their names, which must differ also as words."""
    parts = Parts()
    for key, values in named:
        name, array = _name(key), _array(values)
        if name in parts.names:
            raise Error("two columns of the table have the same name", column=name, remedy="rename one of them")
        reason = _strange(array)
        if reason is not None:
            reason.column = name
            parts.strange[name] = reason
        parts.columns.append((name, column(array) if reason is None else [None] * len(array)))
    return parts


def _name(key: Any) -> str:
    """The name of a column; half of a pair of surrogates is no text."""
    name = str(key)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise Error(f"the name of a column is no text: {name!r}", remedy="rename it") from None
    return name


def _aligned(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array, copied where its numbers do not lie as the machine reads them (fields of packed records)."""
    return array if array.flags.aligned else array.copy()


def _unmasked(values: Any) -> Any:
    """What a masked array hides is missing."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if not np.ma.is_masked(values):
        return values.data
    number = values.dtype.kind in "fiub"
    given = values.data.astype(np.float64 if number else object)
    given[np.ma.getmaskarray(values)] = np.nan if number else None
    return given


def _array(values: Any) -> npt.NDArray[Any]:
    """One column as an array of one dimension."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    array = np.asarray(_unmasked(values))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise Error(f"a column has {array.ndim} dimensions", remedy="give one value a row")
    return array


def _strange(array: npt.NDArray[Any]) -> Error | None:
    """Why a column holds what is no value of a row; nothing where it does not."""
    kind = array.dtype.kind
    items: list[Any] = array.tolist() if kind == "O" else []
    if kind == "c" or any(isinstance(v, (complex, np.complexfloating)) for v in items):
        return Error("Complex data not supported", remedy="give real numbers, such as the real and the imaginary part")
    if kind == "m" or any(isinstance(v, (timedelta, np.timedelta64)) for v in items):
        return Error("it holds spans of time", remedy="give numbers of one unit, such as x / np.timedelta64(1, 'h')")
    if kind == "V":
        return Error("it holds records", remedy="give each field a column of its own")
    nested = (list, tuple, dict, set, frozenset, np.ndarray)
    odd = next(
        (
            v
            for v in items
            if isinstance(v, nested) or (getattr(type(v), "__str__", None) is object.__str__ and not _is_missing(v) and _says_nothing(v))
        ),
        None,
    )
    if odd is not None:
        return Error(f"it holds values of the type {type(odd).__name__}", remedy="give one number or word a row")
    return None


def _says_nothing(value: Any) -> bool:
    """Whether an object's words are only where it lies in memory, or its definition."""
    return callable(value) or getattr(type(value), "__repr__", None) is object.__repr__


def _word(value: Any) -> str:
    """A word; bytes are text in UTF-8."""
    if not isinstance(value, bytes):
        word = str(value)
        if not word.isascii() and any("\ud800" <= c <= "\udfff" for c in word):
            raise Error("it holds half of a pair of surrogates, which is no text", remedy="encode it anew")
        return word
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise Error("it holds bytes that are no UTF-8", remedy="decode them: values.decode('latin-1')") from None


def _number(value: Any) -> float:
    """A number; one that no float can hold is infinite, and refused as such."""
    try:
        return float(value)
    except OverflowError:
        return np.inf


def column(values: Any) -> Column:
    """One column: numbers, whole numbers, or words with `None` where they are missing."""
    array = _array(values)
    reason = _strange(array)
    if reason is not None:
        raise reason
    if array.dtype.kind == "M":
        # written out: as numbers they would depend on their unit
        array = array if np.datetime_data(array.dtype)[0] not in ("Y", "M", "W") else array.astype("datetime64[D]")
        return [None if np.isnat(v) else str(v) for v in array]
    if array.dtype.kind in "iu" and array.dtype != np.uint64:
        return _aligned(array.astype(np.int64, copy=False))
    if array.dtype.kind in "fbu":
        with np.errstate(over="ignore"):  # what no float can hold is infinite, and refused as such
            return _aligned(array.astype(np.float64, copy=False))
    words = [None if _is_missing(v) else v for v in array.tolist()]
    if all(v is None or isinstance(v, (int, float, np.number)) for v in words):
        return np.array([np.nan if v is None else _number(v) for v in words], dtype=np.float64)
    return [None if v is None else _word(v) for v in words]


def days(values: Any) -> Any:
    """Dates and times as numbers, in their own unit; anything else as it is."""
    array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    if array.dtype.kind != "M":
        return array
    return np.where(np.isnat(array), np.nan, array.astype(np.int64).astype(np.float64))


def _is_missing(value: Any) -> bool:
    # NaN, NaT and pandas' NA are not equal to themselves, or will not say
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def actions(values: Any) -> npt.NDArray[np.float64]:
    """Actions as a matrix, one column an action."""
    given = np.asarray(_unmasked(values.to_numpy() if hasattr(values, "to_numpy") else values))
    if given.dtype.kind in "cmM":
        raise Error(f"actions are numbers, and these are {given.dtype}", remedy="give one number an action")
    array = _aligned(np.asarray(given, dtype=np.float64))
    return np.ascontiguousarray(array.reshape(-1, 1) if array.ndim == 1 else array)


def some(X: Any, rows: npt.NDArray[Any]) -> Any:
    """These rows of a table that is in Python's memory."""
    if isinstance(X, Mapping):
        return {name: np.asarray(values)[rows] for name, values in X.items()}
    if _is_pandas(X):
        return X.iloc[rows]
    return X.take(rows) if hasattr(X, "schema") and hasattr(X, "take") else (X if hasattr(X, "columns") else np.asarray(X))[rows]


def beside(X: Any, name: str, values: npt.NDArray[np.float64]) -> Any:
    """A table with one more column behind its own: a DataFrame of pandas stays one, all else becomes a matrix."""
    if _is_pandas(X):
        return X.assign(**{name: values})
    if hasattr(X, "with_columns") and hasattr(X, "to_numpy"):
        X = X.to_numpy()
    columns = dict(X) if isinstance(X, Mapping) else {}
    words = next((n for n, v in columns.items() if np.asarray(v).dtype.kind not in "fiub"), None)
    if words is not None:
        raise Error("it holds words, and the model takes a matrix", column=str(words), remedy="give the log as a DataFrame of pandas")
    matrix = np.column_stack(list(columns.values())) if columns else np.asarray(X)
    return np.column_stack([matrix, values])


def listed(names: str | Iterable[str] | None) -> list[str] | None:
    """One name or several, as a list."""
    return None if names is None else [names] if isinstance(names, str) else [str(n) for n in names]
