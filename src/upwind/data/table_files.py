"""CSV and Parquet files as Arrow tables, and their columns as arrays."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
from numpy.typing import NDArray

from upwind.errors import InputError

PARQUET = (".parquet", ".pq")
CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
SUFFIXES = (*CSV, *PARQUET)

# What a CSV may write where a number is missing. Words stay words: NA is also a country.
_MISSING = ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None"]


def column_names(path: Path) -> list[str]:
    """The names of the columns, without reading the rest."""
    try:
        if _is_parquet(path):
            return list(pa_parquet.read_schema(path).names)
        return [name.strip() for name in _written_names(path)]
    except (pa.ArrowInvalid, UnicodeDecodeError, OSError) as error:
        raise _unreadable(path, error) from error


def read_table(path: Path, words: Sequence[str] = ()) -> pa.Table:
    """The whole table.

    Args:
        path: A file that ends in one of `SUFFIXES`.
        words: Columns of a CSV to keep as they are written, so that the id 007 is not 7.
    """
    try:
        if _is_parquet(path):
            return pa_parquet.read_table(path)
        convert = pa_csv.ConvertOptions(
            column_types={
                name: pa.string() for name in _written_names(path) if name.strip() in words
            },
            null_values=_MISSING,
            strings_can_be_null=False,
        )
        table = pa_csv.read_csv(path, parse_options=_parse(path), convert_options=convert)
        table = table.rename_columns([name.strip() for name in table.schema.names])
        for name in words:  # people write a space after the comma
            place = table.schema.get_field_index(name)
            table = table.set_column(place, name, pc.utf8_trim_whitespace(table[name]))
        return table
    except (pa.ArrowInvalid, UnicodeDecodeError, OSError) as error:
        raise _unreadable(path, error) from error


def column(table: pa.Table, name: str) -> pa.Array:
    """A column in one piece, categories replaced by their values."""
    values = table[name].combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        raise InputError(f"column {name!r} is too long for one array; store its words shorter.")
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_string_view(values.type):  # which few of Arrow's functions take
        values = values.cast(pa.large_string())
    return values


def filled(values: pa.Array) -> pa.Array:
    """The same values, where an empty word counts as missing."""
    if pa.types.is_nested(values.type):
        values = texts(values)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return pc.if_else(pc.equal(values, ""), None, values)
    return values


def texts(values: pa.Array) -> pa.Array:
    """The values as words; 3.0 in a column of whole numbers is 3."""
    if pa.types.is_floating(values.type) and is_whole(values):
        values = values.cast(pa.int64())
    try:
        return pc.cast(values, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        said = [None if value is None else str(value) for value in values.to_pylist()]
        return pa.array(said, type=pa.string())


def is_whole(values: pa.Array) -> bool:
    """Whether every number that is there is whole."""
    finite = pc.is_finite(values)
    return bool(pc.all(pc.and_(finite, pc.equal(pc.floor(values), values))).as_py() is not False)


def width(table: pa.Table, name: str) -> int:
    """How many numbers a row of the column holds: several if it holds lists, none if words."""
    kind, size = table.schema.field(name).type, 1
    if pa.types.is_fixed_size_list(kind):
        kind, size = kind.value_type, kind.list_size
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        lengths = pc.unique(pc.list_value_length(table[name])).to_pylist()
        kind, size = kind.value_type, (lengths[0] or 0) if len(lengths) == 1 else 0
    numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return int(size) if any(is_it(kind) for is_it in numeric) else 0


def numbers(table: pa.Table, name: str) -> NDArray[np.float32]:
    """A column of numbers, or of lists of numbers, as float32; what is missing is NaN."""
    values = column(table, name)
    if width(table, name) == 0:
        raise InputError(f"column {name!r} does not hold numbers, but {values.type}.")
    if pa.types.is_nested(values.type):
        if values.null_count:
            raise InputError(f"column {name!r} has {values.null_count} rows without a list.")
        values = values.flatten()
    if pa.types.is_decimal(values.type):
        values = values.cast(pa.float64())
    return np.asarray(
        pc.cast(values, pa.float32(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float32
    )


def _is_parquet(path: Path) -> bool:
    return path.name.lower().endswith(PARQUET)


def _written_names(path: Path) -> list[str]:
    """The names of a CSV's columns with the spaces that people write round them."""
    with pa_csv.open_csv(path, parse_options=_parse(path)) as file:
        return list(file.schema.names)


def _parse(path: Path) -> pa_csv.ParseOptions:
    return pa_csv.ParseOptions(delimiter="\t" if ".tsv" in path.name.lower() else ",")


def _unreadable(path: Path, error: Exception) -> InputError:
    kind, encoding = ("Parquet", "") if _is_parquet(path) else ("CSV", ", and in UTF-8")
    said = str(error).partition("\n")[0]
    reason = "".join(sign if sign.isprintable() else "?" for sign in said)
    return InputError(f"{path} cannot be read as {kind} ({reason:.200}); is it whole{encoding}?")
