"""ring_attention(): a sequence attends to itself, and processes of torch.distributed hold parts of it. The scheme is
ring attention (Liu et al., 2023) with the blocks of "zigzag" ring attention, merged by states; examples/ring has it in
C."""

import math
from typing import Any

import torch
import torch.distributed

import fovea

from ._operator import Outputs, Window, refuse

SPAN_KEYS = 2048  # where a range of keys is cut, so that merged states have the bits of one call


def ring_positions(length: int, rank: int, ranks: int) -> torch.Tensor:
    """The positions in a sequence of `length` rows that a rank of ring_attention() has, ascending: int64 (rows).

    The sequence is cut into 2 * ranks blocks, and rank r has blocks r and 2 * ranks - 1 - r, so that under a causal
    rule all ranks have as much to do. Blocks are whole spans of 2048 rows: short sequences leave ranks without rows.

        x[:, :, ring_positions(length, rank, ranks)]  # the rank's part of a tensor (batch, heads, rows, dim)
    """
    for name, value, least, end in (("length", length, 0, 2**62), ("ranks", ranks, 1, 2**31), ("rank", rank, 0, ranks)):
        if not hasattr(value, "__index__"):
            raise TypeError(f"{name} is a {type(value).__name__}; it must be a whole number")
        if not least <= value < end:
            refuse(name, f"is {value}; it must be from {least} to {end - 1}")
    return torch.cat([torch.arange(*block) for block in _blocks(length, rank, ranks)])


def ring_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, group: Any = None, *,
                   causal: bool = False, window: Window | None = None, scale: float | None = None,
                   softcap: float | None = None, alibi: torch.Tensor | None = None, sink: torch.Tensor | None = None,
                   mode: str = "exact", lse: bool = False) -> Outputs:
    """Attention of a sequence over itself, whose rows and keys are split over the processes of a group.

        query: (batch, heads, rows, qk_dim), on the CPU, the rows that ring_positions() says
        key:   (batch, kv_heads, rows, qk_dim) at the same positions
        value: (batch, kv_heads, rows, v_dim)

    group: of torch.distributed, for CPU tensors (gloo); default: all processes. Each of them calls the function with
    its rows, and all with the same other arguments. causal, window, scale, softcap and mode are the keywords of
    fovea.attention(), for positions in the whole sequence. alibi: float32 (heads,) or (batch, heads), slopes. sink:
    float32 (heads,), the scores of one more key whose value is zero.

    Returns O of the process's rows, of query's type, contiguous; with lse=True O and LSE, float32 (batch, heads, rows).
    They have the bits of fovea.attention() over the whole sequence, for any number of processes. Each uses
    torch.get_num_threads() threads.

    Rows stay, and keys and values travel around the ring of processes, each to the next, while the process computes
    with those that it has: beside its own it keeps two parts of others. They are copied if they are not contiguous. For
    inference: what requires a gradient is refused. docs/states.md says what a ring costs.

    Raises fovea.Error if arguments do not fit, on all processes alike and before anything is computed. If a process
    fails later, as for lack of memory, the others wait until the timeout of their group.
    """
    rules = {"causal": causal, "window": window, "scale": scale, "softcap": softcap, "mode": mode}
    ring = _Ring(group)
    length = _agree(ring, (query, key, value), rules, alibi, sink)
    blocks = [_blocks(length, rank, ring.ranks) for rank in range(ring.ranks)]
    rules["terms"] = None if alibi is None else fovea.alibi(_plain(alibi))
    rows = _Rows(_plain(query), blocks[ring.rank], rules)
    for owner, keys, values in ring.parts(_plain(key).contiguous(), _plain(value).contiguous(),
                                          [_length(each) for each in blocks]):
        rows.attend(keys, values, blocks[owner])
    return rows.finish(value.shape[-1], _plain(sink), lse)


# ---- Blocks ------------------------------------------------------------------------------------------------------


def _blocks(length, rank, ranks):
    """The ranges of a rank's low and high block."""
    spans = -(-length // SPAN_KEYS)
    begin = lambda block: min(spans * block // (2 * ranks) * SPAN_KEYS, length)
    return [(begin(block), begin(block + 1)) for block in (rank, 2 * ranks - 1 - rank)]


def _length(blocks):
    return sum(end - begin for begin, end in blocks)


def _part(tensor, blocks, side):
    """The rows of one of the two blocks that a tensor has."""
    first = 0 if side == 0 else blocks[0][1] - blocks[0][0]
    return tensor[:, :, first:first + blocks[side][1] - blocks[side][0]]


# ---- States of a process's rows ----------------------------------------------------------------------------------


class _Rows:
    """Two blocks of rows, and their states over the keys that have come. Keys come in any order: a state waits until
    that of neighbouring keys is there, and merges with it at once."""

    def __init__(self, query, blocks, rules):
        self.query, self.blocks, self.rules = query, blocks, rules
        self.states = [], []  # of the low and the high block, ascending
        window = rules["window"]
        left, right = window if isinstance(window, (tuple, list)) else (window, window)
        self.left = math.inf if left is None else left
        self.right = 0 if rules["causal"] else math.inf if right is None else right

    def _sees(self, rows, keys):
        """Whether a row of a block sees a key of another, as far as their positions say."""
        return keys[0] < keys[1] and rows[0] < rows[1] and keys[0] <= rows[1] - 1 + self.right and \
            keys[1] - 1 >= rows[0] - self.left

    def attend(self, keys, values, key_blocks):
        for side, rows in enumerate(self.blocks):
            for key_side, positions in enumerate(key_blocks):
                if self._sees(rows, positions):
                    state = fovea.attention(_part(self.query, self.blocks, side), _part(keys, key_blocks, key_side),
                                            _part(values, key_blocks, key_side), first_key=positions[0],
                                            offset=rows[0], state=True, threads=torch.get_num_threads(), **self.rules)
                    _add(self.states[side], state)

    def finish(self, v_dim, sink, lse):
        """O and LSE. The keys that a row sees are one range, so one state is left of each block."""
        shape = self.query.shape[:-1]
        out, sums = self.query.new_empty(*shape, v_dim), self.query.new_empty(shape, dtype=torch.float32)
        for side, states in enumerate(self.states):
            for state in states:
                result = state.finish(sink=sink, lse=lse, out=_part(out, self.blocks, side),
                                      threads=torch.get_num_threads())
                if lse:
                    _part(sums, self.blocks, side).copy_(result.lse)
        return (out, sums) if lse else out


def _add(states, state):
    states.append(state)
    states.sort(key=lambda each: each.keys)
    i = 0
    while i + 1 < len(states):
        if states[i].keys[1] == states[i + 1].keys[0]:
            states[i:i + 2] = [states[i].merge(states[i + 1], threads=torch.get_num_threads())]
        else:
            i += 1


# ---- The ring ----------------------------------------------------------------------------------------------------


class _Ring:

    def __init__(self, group):
        self.group = torch.distributed.group.WORLD if group is None else group
        self.rank, self.ranks = torch.distributed.get_rank(self.group), torch.distributed.get_world_size(self.group)
        if self.rank < 0:
            refuse("group", "does not contain this process; only processes of the group call ring_attention()")

    def parts(self, keys, values, lengths):
        """(owner, keys, values) of each process, this one's first. While the caller computes with one, the next comes.

        lengths: rows of each process
        """
        here, most = (keys, values), max(lengths)
        memory = [[each.new_empty(each.shape[0] * each.shape[1] * most * each.shape[3]) for each in here]
                  for _ in range(min(2, self.ranks - 1))]
        for step in range(self.ranks):
            owner = (self.rank - step) % self.ranks
            coming, transfers = None, []
            if step + 1 < self.ranks:
                rows = lengths[(owner - 1) % self.ranks]
                coming = [_shaped(room, each, rows) for room, each in zip(memory[step % 2], (keys, values))]
                transfers = self._exchange(here, coming)
            yield owner, *here
            for transfer in transfers:
                transfer.wait()
            here = coming

    def _exchange(self, sent, received):
        """Begins to receive from the process before, and to send to the one after."""
        before, after = (self.rank - 1) % self.ranks, (self.rank + 1) % self.ranks
        transfers = [torch.distributed.irecv(_bytes(each), group=self.group, group_src=before, tag=tag)
                     for tag, each in enumerate(received) if each.numel()]
        return transfers + [torch.distributed.isend(_bytes(each), group=self.group, group_dst=after, tag=tag)
                            for tag, each in enumerate(sent) if each.numel()]


def _bytes(tensor):
    return tensor.view(torch.uint8)  # since gloo does not know every type


def _shaped(memory, like, rows):
    shape = (*like.shape[:2], rows, like.shape[3])
    return memory[:math.prod(shape)].view(shape)


# ---- Arguments ---------------------------------------------------------------------------------------------------


def _agree(ring, tensors, rules, alibi, sink):
    """Compares the arguments of all processes, and returns the length of the sequence. What does not fit is refused by
    each of them, so that none waits for another."""
    refused = None
    try:
        facts = _facts(tensors, rules, alibi, sink)
    except Exception as error:  # pylint: disable=broad-except
        refused, facts = error, f"{type(error).__name__}: {error}"
    everyone = [None] * ring.ranks
    torch.distributed.all_gather_object(everyone, facts, ring.group)
    if refused is not None:
        raise refused
    for rank, theirs in enumerate(everyone):
        if isinstance(theirs, str):
            raise fovea.ArgumentError(f"rank {rank} of the group refused its arguments: {theirs}")
        for name, value in everyone[0].items():
            if name != "rows" and theirs[name] != value:
                refuse(name, f"is {theirs[name]} on rank {rank} of the group, and {value} on rank 0; it must be the "
                       "same on all")
    length = sum(each["rows"] for each in everyone)
    for rank, theirs in enumerate(everyone):
        wanted = _length(_blocks(length, rank, ring.ranks))
        if theirs["rows"] != wanted:
            refuse("query", f"has {theirs['rows']} rows on rank {rank} of the group; of a sequence of {length} rows it "
                   f"has {wanted}, as ring_positions({length}, {rank}, {ring.ranks}) says")
    return length


def _facts(tensors, rules, alibi, sink):
    """What must be the same on all processes, and `rows`."""
    for name, tensor in zip(("query", "key", "value", "alibi", "sink"), (*tensors, alibi, sink)):
        if not isinstance(tensor, torch.Tensor) and name not in ("alibi", "sink"):
            raise TypeError(f"{name} is a {type(tensor).__name__}; it must be a torch.Tensor")
        if getattr(tensor, "requires_grad", False) and torch.is_grad_enabled():
            refuse(name, "requires a gradient, which ring_attention() does not have: detach() it, or call within "
                   "torch.no_grad()", fovea.UnsupportedError)
        if name not in ("alibi", "sink") and tensor.ndim != 4:
            refuse(name, f"has the shape {tuple(tensor.shape)}; it must be (batch, heads, rows, dim)")
    query, key, value = (_plain(tensor) for tensor in tensors)
    if key.shape[2] != query.shape[2]:
        refuse("key", f"has {key.shape[2]} rows, and query {query.shape[2]}; both have the rows of the same positions")
    # A plan refuses whatever attention() would.
    fovea.Plan(query, key, value, sink=_plain(sink), terms=None if alibi is None else fovea.alibi(_plain(alibi)),
               **rules)
    types = {f"{name}.dtype": str(tensor.dtype) for name, tensor in (("query", query), ("key", key), ("value", value))}
    lists = {name: None if tensor is None else tensor.tolist() for name, tensor in (("alibi", alibi), ("sink", sink))}
    return {"rows": query.shape[2], "batch": query.shape[0], "heads": query.shape[1], "kv_heads": key.shape[1],
            "qk_dim": query.shape[3], "v_dim": value.shape[3], **types, **rules, **lists}


def _plain(tensor):
    """The tensor without what autograd has recorded."""
    return tensor.detach() if isinstance(tensor, torch.Tensor) and tensor.requires_grad else tensor
