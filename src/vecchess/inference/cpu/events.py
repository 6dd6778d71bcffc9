"""Event-driven convolution on 8x8 boards: adds the weight rows of the spikes, and nothing else.

    masks: uint64[64 * words]    the spikes of a board; a square has one word for 64 channels
    weight: int8[O / WIDTH][I][3 ranks][3 files][WIDTH]        WIDTH outputs make a tile

A pass walks over the squares, file by file, with the sums of the nine squares around it in vector
registers. A spike adds its nine rows of weights, which lie side by side, to them. Behind a square
the sums of the file to its left are complete for this rank, and go to memory; the others move one
file on. A square has one loop, of a length that is hard to predict, and the processor is then far
behind with adding, so that guessing it wrong costs little.

Where the sums of the step before are known, and fewer spikes have changed since then than there are
now, the weights of those that are new are added to these sums and those of the others subtracted.

In a wide tile 16 bits hold two weights, 256 * w[32 + i] + w[i] + 128. Their sum and the sum of
their upper bytes give both sums, exactly as long as these fit 16 bits: three instructions for 64
weights, where widening each of them to 16 bits takes four.

Decision 245.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import register_jitable
from numpy.typing import NDArray

from vecchess.chess.bitboards.bits import popcount, tz
from vecchess.jit import cpu_has, inline, part
from vecchess.llvm import (
    I1,
    I16,
    I64,
    Loop,
    constant,
    instruction,
    load,
    load_as,
    load_if,
    splat,
    store,
)
from vecchess.snn.topology import NUM_TAPS

WORD = 64
"""Channels of a word of a mask."""
HAS_WIDE = cpu_has("avx512bw")
WIDE, NARROW = (64, 32) if HAS_WIDE else (16, 8)
"""Outputs of a tile, so that nine squares of them fit into the registers: of int16 sums, and of
int32 sums or where the outputs are no multiple of the wide ones."""
OFFSET = 128
"""What is added to the lower of two weights in 16 bits, so that it is not negative."""


@register_jitable
def mask_words(num_channels: int) -> int:
    """Words of the mask of a square."""
    return (num_channels + WORD - 1) // WORD


@register_jitable
def tile_width(num_outputs: int, sum_bytes: int) -> int:
    """Width of the tiles that weights for so many outputs are cut into."""
    return WIDE if sum_bytes == 2 and num_outputs % WIDE == 0 else NARROW


def event_weights(weight: NDArray[np.int8], sum_bytes: int) -> NDArray[np.int8]:
    """int8[O, 9 * I] -> int8[9 * I * O] in the order above, for sums of so many bytes."""
    outputs = len(weight)
    width = tile_width(outputs, sum_bytes)
    tiles = weight.reshape(outputs // width, width, NUM_TAPS, -1).transpose(0, 3, 2, 1)
    if HAS_WIDE and width == WIDE:
        low, high = tiles[..., : WIDE // 2].astype(np.int16), tiles[..., WIDE // 2 :]
        tiles = high.astype(np.int16) * 256 + low + OFFSET
    return np.ascontiguousarray(tiles).view(np.int8).ravel()


class _Window(NamedTuple):
    """The squares around one. sums: by (rank, file), each 0 to 2: before, the same, behind, the
    vectors that a sum is kept in; counts: by file, the spikes added to each of its sums."""

    sums: dict[tuple[int, int], list[Any]]
    counts: dict[int, Any]

    def moved(self) -> "_Window":
        """This window as seen from the next file."""
        sums = {(r, f - 1): vectors for (r, f), vectors in self.sums.items() if f}
        return _Window(sums, {f - 1: count for f, count in self.counts.items() if f})

    def flat(self) -> list[Any]:
        """All values, for a loop to carry."""
        vectors = [vector for key in sorted(self.sums) for vector in self.sums[key]]
        return vectors + [self.counts[f] for f in sorted(self.counts)]

    def filled(self, values: list[Any]) -> "_Window":
        """These squares with other values, in the order of ``flat``."""
        each = iter(values)
        sums = {key: [next(each) for _ in self.sums[key]] for key in sorted(self.sums)}
        return _Window(sums, {f: next(each) for f in sorted(self.counts)})


class _Tile:
    """Emits one tile of a board; arguments as of ``_tile_adder``."""

    def __init__(self, width: int, builder: Any, *given: Any) -> None:
        self.builder, self.width = builder, width
        self.masks, self.old_masks, self.old_total, self.is_change, *rest = given
        self.words, self.weight, self.first, self.total, self.at, self.outputs = rest
        element = self.total.type.pointee
        self.in_pairs = HAS_WIDE and width == WIDE and element == I16
        self.lanes = width // 2 if self.in_pairs else width
        self.zero = constant(element, 0, self.lanes)

    def emit(self) -> None:
        """All ranks: the first and the last have no neighbours on one side."""
        builder = self.builder
        self._walk_rank(I64(0), (1, 2), is_first=True)
        ranks = Loop(builder, I64(1), partial(builder.icmp_signed, "<", rhs=I64(7)), [])
        self._walk_rank(ranks.index, (0, 1, 2))
        ranks.close(builder.add(ranks.index, I64(1)), [])
        self._walk_rank(I64(7), (0, 1))

    def _walk_rank(self, rank: Any, ranks: tuple[int, ...], is_first: bool = False) -> None:
        """Add the spikes of a rank to the sums of ``ranks`` around it."""
        builder = self.builder
        at_left = self._joined(self._empty(ranks, 1), self._empty(ranks, 2))
        window = self._add_square(rank, I64(0), at_left).moved()
        is_inside = partial(builder.icmp_signed, "<", rhs=I64(7))
        files = Loop(builder, I64(1), is_inside, window.flat())
        inside = self._joined(window.filled(files.carried), self._empty(ranks, 2))
        inside = self._add_square(rank, files.index, inside)
        self._write_file(rank, builder.sub(files.index, I64(1)), inside, 0, is_first)
        moved = inside.moved()
        done = files.close(builder.add(files.index, I64(1)), moved.flat())
        at_right = self._add_square(rank, I64(7), moved.filled(done))
        self._write_file(rank, I64(6), at_right, 0, is_first)
        self._write_file(rank, I64(7), at_right, 1, is_first)

    def _empty(self, ranks: tuple[int, ...], file: int) -> _Window:
        """One file without spikes."""
        vectors = [self.zero] * (2 if self.in_pairs else 1)
        return _Window({(r, file): list(vectors) for r in ranks}, {file: I64(0)})

    @staticmethod
    def _joined(one: _Window, other: _Window) -> _Window:
        return _Window(one.sums | other.sums, one.counts | other.counts)

    def _add_square(self, rank: Any, file: Any, window: _Window) -> _Window:
        """Add the weights of a square's spikes."""
        builder = self.builder
        square = builder.add(builder.mul(rank, I64(8)), file)
        base = builder.mul(square, self.words)
        is_word = partial(builder.icmp_signed, "<", rhs=self.words)
        words = Loop(builder, I64(0), is_word, window.flat())
        before = window.filled(words.carried)
        place = [builder.add(base, words.index)]
        mask = builder.load(builder.gep(self.masks, place))
        old = builder.load(builder.gep(self.old_masks, place))
        old = builder.and_(old, builder.neg(self.is_change))
        channel = builder.mul(words.index, I64(WORD))
        before = self._add_spikes(builder.and_(mask, builder.not_(old)), channel, before)
        after = self._add_spikes(builder.and_(old, builder.not_(mask)), channel, before, lost=True)
        return window.filled(words.close(builder.add(words.index, I64(1)), after.flat()))

    def _add_spikes(self, mask: Any, first: Any, window: _Window, lost: bool = False) -> _Window:
        """Add the weights of a word's spikes, or subtract them; ``first``: its first channel."""
        builder = self.builder
        number, count = builder.ctpop(mask), builder.sub if lost else builder.add
        counts = {f: count(total, number) for f, total in window.counts.items()}
        summed = _Window(window.sums, {})
        is_left = partial(builder.icmp_unsigned, "!=", rhs=I64(0))
        spikes = Loop(builder, mask, is_left, summed.flat())
        channel = builder.add(builder.cttz(spikes.index, I1(1)), first)
        row = builder.add(self.first, builder.mul(channel, I64(NUM_TAPS * self.width)))
        carried = summed.filled(spikes.carried).sums
        added = {key: self._add_row(row, key, vectors, lost) for key, vectors in carried.items()}
        left = builder.and_(spikes.index, builder.sub(spikes.index, I64(1)))
        sums = summed.filled(spikes.close(left, _Window(added, {}).flat())).sums
        return _Window(sums, counts)

    def _add_row(
        self, row: Any, square: tuple[int, int], vectors: list[Any], lost: bool
    ) -> list[Any]:
        """Add a spike's weights to the sums of a square near it, or subtract them."""
        builder = self.builder
        add = builder.sub if lost else builder.add
        tap = (2 - square[0]) * 3 + 2 - square[1]  # where the spike lies as seen from there
        place = builder.add(row, I64(tap * self.width))
        if not self.in_pairs:
            weights = load_as(builder, self.weight, place, self.zero.type)
            return [add(vectors[0], weights)]
        pairs = builder.bitcast(load(builder, self.weight, place, self.width), self.zero.type)
        upper = builder.ashr(pairs, constant(I16, 8, self.lanes))
        return [add(vectors[0], pairs), add(vectors[1], upper)]

    def _write_file(self, rank: Any, file: Any, window: _Window, which: int, first: bool) -> None:
        """Add the sums of one file to the totals, or begin them: those of a rank are begun by the
        spikes of the rank before it, with the sums of the step before where these are known."""
        builder = self.builder
        offset = builder.mul(window.counts[which], I64(OFFSET))
        for (r, f), vectors in window.sums.items():
            if f != which:
                continue
            square = builder.add(builder.mul(builder.add(rank, I64(r - 1)), I64(8)), file)
            place = builder.add(self.at, builder.mul(square, self.outputs))
            for nth, total in enumerate(self._parted(vectors, offset)):
                here = builder.add(place, I64(nth * self.lanes))
                if r < 2 and not first:
                    known = load(builder, self.total, here, self.lanes)
                else:
                    known = load_if(builder, self.is_change, self.old_total, here, self.zero)
                store(builder, builder.add(total, known), self.total, here)

    def _parted(self, vectors: list[Any], offset: Any) -> list[Any]:
        """The sums that ``vectors`` stand for; ``offset``: what was added to the lower ones."""
        if not self.in_pairs:
            return vectors
        builder, (pairs, upper) = self.builder, vectors
        added = splat(builder, builder.trunc(offset, I16), self.lanes)
        lower = builder.sub(pairs, builder.shl(upper, constant(I16, 8, self.lanes)))
        return [builder.sub(lower, added), upper]


def _tile_adder(width: int) -> Any:
    """``add(masks, old_masks, old_total, is_change, words, weight, first, total, at, outputs)`` for
    kernels: one tile of a board.

    Where ``is_change`` is 1 and not 0, ``old_total`` are the sums of ``old_masks``. The tile's
    weights begin at ``weight[first]``, its sums at ``total[at]``; squares are ``outputs`` apart.
    """
    n = types.int64

    @instruction(types.void, None, None, None, n, n, None, n, None, n, n)
    def add(  # type: ignore[no-untyped-def]
        builder, masks, old_masks, old_total, is_change, words, weight, first, total, at, outputs
    ) -> None:
        board = masks, old_masks, old_total, is_change, words, weight, first, total, at, outputs
        _Tile(width, builder, *board).emit()

    return add


_add_wide, _add_narrow = (_tile_adder(width) for width in (WIDE, NARROW))


@inline
def count_spikes(masks, old_masks, size):  # type: ignore[no-untyped-def]
    """Spikes in the first ``size`` words, and how many differ from those of the step before."""
    spikes, changes = np.uint64(0), np.uint64(0)
    for i in range(size):
        spikes += popcount(masks[i])
        changes += popcount(masks[i] ^ old_masks[i])
    return spikes, changes


@part
def convolve_events(  # type: ignore[no-untyped-def]
    masks, old_masks, old_total, is_change, weight, offset, num_inputs, num_outputs, total
):
    """Weighted sums of one board: total int16|int32[64 * O] (units of the row).

    is_change: 1 where ``old_total``, another board, has the sums of ``old_masks``; else 0, and both
    are read no further.
    """
    width, words = tile_width(num_outputs, total.itemsize), mask_words(num_inputs)
    for tile in range(0, num_outputs, width):
        first = offset + tile * NUM_TAPS * num_inputs
        board = masks, old_masks, old_total, is_change, words, weight, first, total, tile
        if width == WIDE:
            _add_wide(*board, num_outputs)
        else:
            _add_narrow(*board, num_outputs)


@inline
def mask_planes(planes, masks):  # type: ignore[no-untyped-def]
    """Bitboards ``planes: uint64[P]`` of one board as ``masks``, a plane being a channel."""
    words = mask_words(planes.shape[0])
    for i in range(64 * words):
        masks[i] = np.uint64(0)
    for plane in range(planes.shape[0]):
        bit, word = np.uint64(1) << np.uint64(plane & 63), plane >> 6
        left = planes[plane]
        while left != 0:
            masks[np.int64(tz(left)) * words + word] |= bit
            left &= left - np.uint64(1)
