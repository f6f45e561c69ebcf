"""Eight numbers side by side in vector registers, for compiled loops.

LLVM vectorises a loop over neighbouring elements of an array, but then its sums go through memory
at every turn of the loop around it. A value of this type stays in registers: eight columns
of a table are worked on at once, whatever the loops are. On processors with narrower registers the
compiler takes two or four of these for one value.

The product and the sum of `add_scaled` and `add_product` may be rounded once where the processor
can do both in one instruction; everything else is rounded as single numbers are.
"""

# ruff: noqa: ANN401, ARG001 - these generate machine code: numba calls them with objects of its own

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model
from numpy.typing import NDArray

from sclcs.spi.numerics.compiling import Array

__all__ = [
    "WIDTH",
    "Lanes",
    "add",
    "add_at",
    "add_product",
    "add_scaled",
    "aligned_empty",
    "first_lanes",
    "load",
    "load_from",
    "maximum",
    "minimum",
    "multiply",
    "not_above",
    "power_of_two",
    "prefetch",
    "spread",
    "store",
    "store_from",
    "subtract",
    "sum_of",
    "zeros",
]

WIDTH = 8
_FLAGS = ("contract",)
_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)


class Lanes:
    """What the type of a value is called in annotations."""


class _Lanes(types.Type):
    def __init__(self) -> None:
        super().__init__(name="Lanes")


_LANES = _Lanes()


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)  # type: ignore[no-untyped-call]


def aligned_empty(shape: tuple[int, ...]) -> Array:
    """Return an array whose rows of eight numbers never lie across two lines of the cache."""
    size = int(np.prod(shape))
    memory = np.empty(size + WIDTH)
    start = -memory.ctypes.data // memory.itemsize % WIDTH
    return memory[start : start + size].reshape(shape)


def _place(context: Any, builder: Any, kind: Any, table: Any, row: Any) -> Any:
    """Return where a row of a C-contiguous table begins."""
    struct = context.make_array(kind)(context, builder, value=table)
    return builder.gep(struct.data, [builder.mul(row, ir.Constant(row.type, WIDTH))])


def _address(context: Any, builder: Any, kind: Any, table: Any, row: Any) -> Any:
    """Return where a row of a C-contiguous table begins, as the address of a vector."""
    start = _place(context, builder, kind, table, row)
    return builder.bitcast(start, _VECTOR.as_pointer())


def _from(context: Any, builder: Any, kind: Any, row: Any, place: Any) -> Any:
    """Return the address of the eight numbers of a contiguous row that begin at a place."""
    struct = context.make_array(kind)(context, builder, value=row)
    return builder.bitcast(builder.gep(struct.data, [place]), _VECTOR.as_pointer())


def _loading(address: Callable[..., Any]) -> Callable[..., Any]:
    """Return what generates the reading of eight numbers from an array and a place in it."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = context.cast(builder, values[1], signature.args[1], types.intp)
        eight = address(context, builder, signature.args[0], values[0], place)
        return builder.load(eight, align=8)

    return generate


def _storing(address: Callable[..., Any]) -> Callable[..., Any]:
    """Return what generates the writing of eight numbers to an array and a place in it."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = context.cast(builder, values[1], signature.args[1], types.intp)
        eight = address(context, builder, signature.args[0], values[0], place)
        builder.store(values[2], eight, align=8)
        return context.get_dummy_value()

    return generate


def _spread(builder: Any, number: Any) -> Any:
    one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), number, _index(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), mask)


def _index(place: int) -> Any:
    return ir.Constant(ir.IntType(32), place)


@intrinsic
def _zeros(typing: Any) -> Any:
    """Return eight zeros."""

    def generate(_context: Any, _builder: Any, _signature: Any, _values: Any) -> Any:
        return ir.Constant(_VECTOR, [0.0] * WIDTH)

    return _LANES(), generate


@intrinsic
def _load(typing: Any, table: Any, row: Any) -> Any:
    """Return a row, table[row], of a contiguous table with eight columns."""
    return _LANES(table, row), _loading(_address)


@intrinsic
def _store(typing: Any, table: Any, row: Any, lanes: Any) -> Any:
    """Write a row, table[row], of a contiguous table with eight columns."""
    return types.void(table, row, lanes), _storing(_address)


@intrinsic
def _load_from(typing: Any, row: Any, place: Any) -> Any:
    """Return row[place : place + 8] of a contiguous row."""
    return _LANES(row, place), _loading(_from)


@intrinsic
def _store_from(typing: Any, row: Any, place: Any, lanes: Any) -> Any:
    """Write row[place : place + 8] of a contiguous row."""
    return types.void(row, place, lanes), _storing(_from)


@intrinsic
def _first_lanes(typing: Any, lanes: Any, count: Any) -> Any:
    """Return the first lanes, as many as count says, and zeros in the others."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        number = context.cast(builder, values[1], signature.args[1], types.float64)
        numbers = ir.Constant(_VECTOR, [float(lane) for lane in range(WIDTH)])
        kept = builder.fcmp_ordered("<", numbers, _spread(builder, number))
        return builder.select(kept, values[0], ir.Constant(_VECTOR, [0.0] * WIDTH))

    return _LANES(lanes, count), generate


@intrinsic
def _sum_of(typing: Any, lanes: Any) -> Any:
    """Return the sum of the lanes: halves are added to each other."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        total = values[0]
        for half in (WIDTH // 2, WIDTH // 4, WIDTH // 8):
            places = [(lane + half) % WIDTH for lane in range(WIDTH)]
            mask = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), places)
            other = builder.shuffle_vector(total, ir.Constant(_VECTOR, ir.Undefined), mask)
            total = builder.fadd(total, other)
        return builder.extract_element(total, _index(0))

    return types.float64(lanes), generate


@intrinsic
def _power_of_two(typing: Any, lanes: Any) -> Any:
    """Return two to the integers in the lowest bits of the numbers."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        integers = ir.VectorType(ir.IntType(64), WIDTH)
        bits = builder.bitcast(values[0], integers)
        exponents = builder.add(bits, ir.Constant(integers, [1023] * WIDTH))
        moved = builder.shl(exponents, ir.Constant(integers, [52] * WIDTH))
        return builder.bitcast(moved, _VECTOR)

    return _LANES(lanes), generate


@intrinsic
def _add_scaled(typing: Any, total: Any, factor: Any, lanes: Any) -> Any:
    """Return total + factor * lanes for a number."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        product = builder.fmul(_spread(builder, values[1]), values[2], flags=_FLAGS)
        return builder.fadd(values[0], product, flags=_FLAGS)

    return _LANES(total, types.float64, lanes), generate


@intrinsic
def _add_product(typing: Any, total: Any, first: Any, second: Any) -> Any:
    """Return total + first * second, lane by lane."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        product = builder.fmul(values[1], values[2], flags=_FLAGS)
        return builder.fadd(values[0], product, flags=_FLAGS)

    return _LANES(total, first, second), generate


@intrinsic
def _add_at(typing: Any, table: Any, rows: Any, row: Any, lanes: Any) -> Any:
    """Add each lane to its own row: table[rows[row, lane], lane] += lanes[lane]."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        index = context.cast(builder, values[2], signature.args[2], types.intp)
        found = _place(context, builder, rows, values[1], index)
        starts = [builder.gep(found, [_index(lane)]) for lane in range(WIDTH)]
        targets = [builder.zext(builder.load(address), index.type) for address in starts]
        for lane, target in enumerate(targets):
            start = _place(context, builder, table, values[0], target)
            address = builder.gep(start, [_index(lane)])
            number = builder.extract_element(values[3], _index(lane))
            builder.store(builder.fadd(builder.load(address), number), address)
        return context.get_dummy_value()

    return types.void(table, rows, row, lanes), generate


@intrinsic
def _prefetch(typing: Any, table: Any, row: Any) -> Any:
    """Ask for a row that is needed soon: the processor cannot guess a random order."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        index = context.cast(builder, values[1], signature.args[1], types.intp)
        address = _place(context, builder, table, values[0], index)
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, kind, "llvm.prefetch.p0i8"
        )
        read, nearest, data = _index(0), _index(3), _index(1)
        builder.call(function, [builder.bitcast(address, pointer), read, nearest, data])
        return context.get_dummy_value()

    return types.void(table, row), generate


@intrinsic
def _spread_number(typing: Any, number: Any) -> Any:
    """Return a number in all lanes."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        return _spread(builder, values[0])

    return _LANES(types.float64), generate


def _lane_by_lane(operate: Callable[[Any, Any, Any], Any]) -> Any:
    """Return an operation on two values, given how to generate it."""

    @intrinsic
    def operation(typing: Any, first: Any, second: Any) -> Any:
        def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
            return operate(builder, values[0], values[1])

        return _LANES(first, second), generate

    return operation


def _smaller(builder: Any, first: Any, second: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", first, second), first, second)


def _larger(builder: Any, first: Any, second: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", first, second), first, second)


@intrinsic
def _not_above(typing: Any, first: Any, second: Any) -> Any:
    """Return the lanes with first <= second, as the bits of an integer."""

    def generate(_context: Any, builder: Any, _signature: Any, values: Any) -> Any:
        lanes = builder.fcmp_ordered("<=", values[0], values[1])
        bits = builder.bitcast(lanes, ir.IntType(WIDTH))
        return builder.zext(bits, ir.IntType(64))

    return types.int64(first, second), generate


zeros = cast("Callable[[], Lanes]", _zeros)
spread = cast("Callable[[float], Lanes]", _spread_number)
load = cast("Callable[[Array, int], Lanes]", _load)
store = cast("Callable[[Array, int, Lanes], None]", _store)
add_scaled = cast("Callable[[Lanes, float, Lanes], Lanes]", _add_scaled)
add_product = cast("Callable[[Lanes, Lanes, Lanes], Lanes]", _add_product)
add = cast("Callable[[Lanes, Lanes], Lanes]", _lane_by_lane(ir.IRBuilder.fadd))
subtract = cast("Callable[[Lanes, Lanes], Lanes]", _lane_by_lane(ir.IRBuilder.fsub))
multiply = cast("Callable[[Lanes, Lanes], Lanes]", _lane_by_lane(ir.IRBuilder.fmul))
minimum = cast("Callable[[Lanes, Lanes], Lanes]", _lane_by_lane(_smaller))
maximum = cast("Callable[[Lanes, Lanes], Lanes]", _lane_by_lane(_larger))
not_above = cast("Callable[[Lanes, Lanes], int]", _not_above)
add_at = cast("Callable[[Array, NDArray[np.unsignedinteger[Any]], int, Lanes], None]", _add_at)
prefetch = cast("Callable[[NDArray[Any], int], None]", _prefetch)
load_from = cast("Callable[[Array, int], Lanes]", _load_from)
store_from = cast("Callable[[Array, int, Lanes], None]", _store_from)
first_lanes = cast("Callable[[Lanes, int], Lanes]", _first_lanes)
sum_of = cast("Callable[[Lanes], float]", _sum_of)
power_of_two = cast("Callable[[Lanes], Lanes]", _power_of_two)
