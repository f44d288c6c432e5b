/* Keywords that say which keys a row sees. */
#include "call.h"
#include "pattern.h"

namespace fovea_python {

namespace {

void set_window(attention_call &call, nb::handle value, const char *name) {
  bool one = is_single(value);
  call.problem.window_left = one ? limit_of(value, name) : limit_part(value, name, 2, 0);
  call.problem.window_right = one ? limit_of(value, name) : limit_part(value, name, 2, 1);
}

void set_chunks(attention_call &call, nb::handle value, const char *name) {
  fovea_problem_chunks &chunks = call.problem.chunks;
  if (is_single(value)) {
    chunks.size = integer_of(value, name);
    return;
  }
  chunks.size = integer_of(part_of(value, name, 3, 0), name);
  chunks.left = limit_part(value, name, 3, 1);
  chunks.right = limit_part(value, name, 3, 2);
}

void set_offset(attention_call &call, nb::handle value, const char *name) {
  if (is_single(value))
    call.problem.offset = integer_of(value, name);
  else
    call.problem.offsets = call.list(value, name, "one for each batch element");
}

/* Up to as many positions as strides may reach. */
void set_first_key(attention_call &call, nb::handle value, const char *name) {
  const int64_t most = INT64_C(1) << 57;
  call.first_key = integer_of(value, name);
  if (call.first_key < 0 || call.first_key > most)
    refuse(name, "%s is %jd; it must be from 0 to 2^57", name, (intmax_t)call.first_key);
}

void set_keys(attention_call &call, nb::handle value, const char *name) {
  fovea_range keys = range_of(value, name);
  if (keys.begin < call.first_key)
    refuse(name, "%s begins at %jd, and k and v at first_key, which is %jd", name, (intmax_t)keys.begin,
           (intmax_t)call.first_key);
  call.problem.keys = keys;
}

/* How many rows (keys) of a mask the longest sequence needs. */
int64_t longest(const int32_t *offsets, int64_t sequences, int64_t all) {
  int64_t most = 0;
  if (!offsets) return all;
  for (int64_t b = 0; b < sequences; b++)
    if (offsets[b + 1] - offsets[b] > most) most = offsets[b + 1] - offsets[b];
  return most;
}

fovea_mask_type mask_type(element type, const char *name) {
  switch (type) {
  case element::boolean:
    return FOVEA_MASK_BOOL;
  case element::f32:
    return FOVEA_MASK_F32;
  case element::f16:
    return FOVEA_MASK_F16;
  case element::bf16:
    return FOVEA_MASK_BF16;
  default:
    refuse(name, "%s has elements of %s; they must be bool, or float32, float16, bfloat16 that are added to scores",
           name, facts_of(type).name);
  }
}

/* Sets type and strides of a mask that is broadcast to (batch, heads, rows, keys), as NumPy does; an axis of length 1 is
 * repeated. With `bits` the tensor's last axis has bytes of eight keys. */
void set_mask_layout(attention_call &call, const tensor &mask, const char *name, bool bits) {
  fovea_problem &problem = call.problem;
  int64_t keys = longest(problem.cu_seqlens_kv, problem.batch, problem.kv_len) - problem.mask.begin;
  int64_t wanted[4] = {problem.batch, problem.heads, longest(problem.cu_seqlens_q, problem.batch, problem.q_len),
                       problem.mask.keys != FOVEA_UNLIMITED ? problem.mask.keys : keys};
  if (bits) wanted[3] = (wanted[3] + 7) / 8;
  int64_t strides[4] = {0, 0, 0, 0};
  if (mask.axes > 4) refuse(name, "%s has %d axes; it must have (batch, heads, rows, keys)", name, mask.axes);
  for (int axis = 0; axis < mask.axes; axis++) {
    int to = 4 - mask.axes + axis;
    if (mask.shape[axis] != 1 && mask.shape[axis] != wanted[to])
      refuse(name, "%s has the shape %s; it must be %s, or 1 along an axis", name, shape_text(mask).text,
             shape_text(wanted, 4).text);
    if (mask.shape[axis] != 1) strides[to] = mask.strides[axis];
  }
  if (bits && strides[3] != 1 && wanted[3] > 1) refuse(name, "%s needs a byte for each eight keys", name);
  int64_t unit = bits ? 8 : 1;
  problem.mask.type = bits ? FOVEA_MASK_BITS : mask_type(mask.type, name);
  problem.mask.strides = {strides[0] * unit, strides[1] * unit, strides[2] * unit, bits ? 1 : strides[3]};
  call.tensors.mask = mask.data;
}

void set_mask(attention_call &call, nb::handle value, const char *name) {
  tensor &mask = call.hold_strided(value, name);
  set_mask_layout(call, mask, name, false);
}

void set_mask_bits(attention_call &call, nb::handle value, const char *name) {
  if (call.tensors.mask) refuse_unused(name, "%s is given, and mask, too: a call has one mask", name);
  tensor &mask = call.hold(value, name);
  require_type(mask, name, element::u8);
  set_mask_layout(call, mask, name, true);
}

void set_pattern(attention_call &call, nb::handle value, const char *name) {
  call.kept.push_back(nb::borrow(value));
  if (nb::isinstance<pattern>(value)) {
    call.problem.pattern = nb::cast<const pattern &>(value).compiled();
    return;
  }
  if (!PyTuple_Check(value.ptr()) && !PyList_Check(value.ptr()))
    refuse_type(name, value, "a fovea.Pattern, or a list with one for each batch element");
  for (nb::handle each : nb::borrow<nb::sequence>(value)) {
    if (!nb::isinstance<pattern>(each)) refuse_type(name, each, "a fovea.Pattern");
    call.kept.push_back(nb::borrow(each));
    call.patterns.push_back(nb::cast<const pattern &>(each).compiled());
  }
  require_count(call.patterns.size(), call.problem.batch, name, "one for each batch element");
  call.problem.patterns = call.patterns.data();
}

/* The first element of head 0 and row `row` of a batch element. */
void *element_at(const void *base, fovea_strides strides, fovea_type type, size_t b, int64_t row) {
  int64_t elements = static_cast<int64_t>(b) * strides.batch + row * strides.row;
  return static_cast<char *>(const_cast<void *>(base)) + elements * (type == FOVEA_F32 ? 4 : 2);
}

/* The keys of a batch element from `first` on, in the memory of K and V. */
fovea_segment segment_from(const attention_call &call, size_t b, int64_t first) {
  const fovea_problem &problem = call.problem;
  fovea_segment segment;
  fovea_segment_init(&segment, 0, problem.kv_len - first, problem.qk_dim, problem.v_dim, problem.k_type,
                     element_at(call.tensors.k, problem.k_strides, problem.k_type, b, first),
                     element_at(call.tensors.v, problem.v_strides, problem.v_type, b, first));
  segment.v_type = problem.v_type;
  segment.kv_heads = problem.kv_heads;
  segment.k_head = problem.k_strides.head, segment.k_row = problem.k_strides.row;
  segment.v_head = problem.v_strides.head, segment.v_row = problem.v_strides.row;
  return segment;
}

/* Row 0's own key. */
int64_t offset_of(const fovea_problem &problem, size_t b, int64_t keys) {
  if (problem.offsets) return problem.offsets[b];
  if (problem.offset != FOVEA_OFFSET_BOTTOM_RIGHT) return problem.offset;
  return keys - (problem.q_lens ? problem.q_lens[b] : problem.q_len);
}

/* Each batch element becomes a sequence whose position 0 is its first key after the padding. */
void set_padding(attention_call &call, nb::handle value, const char *name) {
  fovea_problem &problem = call.problem;
  if (call.cached || call.page_table || call.sequences_kv)
    refuse_unused(name, "%s is given, and a cache, page_table or cu_seqlens_kv, whose sequences have no padding",
                  name);
  if (problem.kv_begins) refuse_unused(name, "%s is given, and kv_begins, too", name);
  if (call.tensors.mask) refuse_unused(name, "%s is given, and a mask, which counts it: give kv_begins", name);
  const int64_t *padding = call.list(value, name, "one for each batch element");
  auto made = std::make_shared<cache_view>();
  size_t batch = static_cast<size_t>(problem.batch);
  made->segments.resize(batch);
  for (size_t b = 0; b < batch; b++) {
    int64_t keys = problem.kv_lens ? problem.kv_lens[b] : problem.kv_len;
    if (padding[b] < 0 || padding[b] > keys || keys > problem.kv_len)
      refuse(name, "%s[%zu] is %jd; it must be from 0 to the kv length of the batch element, which is %jd", name, b,
             (intmax_t)padding[b], (intmax_t)keys);
    made->segments[b] = segment_from(call, b, padding[b]);
    made->sequences.push_back(fovea_sequence_of(&made->segments[b], made->segments[b].rows > 0));
    made->lens.push_back(keys - padding[b]);
    made->offsets.push_back(offset_of(problem, b, keys) - padding[b]);
  }
  problem.cache.segmented = 1;
  problem.kv_lens = made->lens.data();
  problem.offset = FOVEA_OFFSET_BOTTOM_RIGHT;
  problem.offsets = made->offsets.data();
  call.tensors.cache.sequences = made->sequences.data();
  call.tensors.k = call.tensors.v = nullptr;
  call.view = made;
}

const option options[] = {
    {"cu_seqlens_q", "Integers",
     "packed batches: sequence b owns rows cu_seqlens_q[b] to cu_seqlens_q[b + 1] - 1 of Q, O and LSE; Q has then "
     "no\n"
     "        batch axis, or one of length 1. int32, one more than sequences",
     in_problem, true,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.cu_seqlens_q = call.offsets_of_rows(value, name, &call.sequences_q);
     }},
    {"cu_seqlens_kv", "Integers", "the same for keys", in_problem, true,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.cu_seqlens_kv = call.offsets_of_rows(value, name, &call.sequences_kv);
     }},
    {"first_key", "int",
     "the position of the first key of k and v, default 0: they hold a part of a sequence, of which a state is "
     "made.\n"
     "        The kv length is then first_key and the keys of k",
     in_problem &not_in_layer, true, set_first_key},
    {"causal", "bool",
     "a row sees no key after its own; the last row's own key is the last key, if no offset is set",
     in_problem | in_stream, false,
     [](attention_call &call, nb::handle value, const char *name) { call.problem.causal = flag_of(value, name); }},
    {"window", "int | tuple[int | None, int | None]",
     "(left, right): a row sees at most `left` keys before its own and `right` after it; None (not -1): no limit. "
     "A\n"
     "        number stands for both",
     in_problem | in_stream, false, set_window},
    {"chunks", "int | tuple[int, int | None, int | None]",
     "size, or (size, left, right): a row sees the chunk of `size` positions that holds its own key, `left` keys "
     "before\n"
     "        the chunk, `right` keys after it",
     in_problem | in_stream, false, set_chunks},
    {"offset", "int | Integers",
     "row i's own key is key i + offset; one number, or one for each batch element. Default: kv length less q "
     "length",
     in_problem, false, set_offset},
    {"q_lens", "Integers", "how many rows of each batch element are used, (batch); the others see no key",
     in_problem, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.q_lens = call.list(value, name, "one for each batch element");
     }},
    {"kv_lens", "Integers", "how many keys of each batch element are visible, (batch)", in_problem, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.kv_lens = call.list(value, name, "one for each batch element");
     }},
    {"kv_begins", "Integers", "the first visible key of each batch element, (batch): left padding, rings",
     in_problem, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.kv_begins = call.list(value, name, "one for each batch element");
     }},
    {"keys", "tuple[int, int | None]", "(begin, end): only keys at these positions are visible", in_problem, false,
     set_keys},
    {"pattern", "Pattern | Sequence[Pattern]", "one more rule, or one for each batch element", in_problem, false,
     set_pattern},
    {"mask_begin", "int", "the key of a mask's first element, default 0; the rules decide alone about earlier keys",
     in_problem, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.mask.begin = integer_of(value, name);
     }},
    {"mask_keys", "int", "how many keys a mask has, if not all from its first on; keys after them are not visible",
     in_problem, false,
     [](attention_call &call, nb::handle value, const char *name) {
       call.problem.mask.keys = integer_of(value, name);
     }},
    {"mask", "Tensor",
     "(batch, heads, rows, keys), broadcast as NumPy does: bool, False is not visible; or float32, float16, "
     "bfloat16\n"
     "        that is added to scores, -inf is not visible",
     in_all, false, set_mask},
    {"mask_bits", "Tensor",
     "the same as bits: uint8 (batch, heads, rows, bytes), key j in bit j % 8 of byte j // 8 (numpy.packbits with\n"
     "        bitorder='little'); 0 is not visible",
     in_all, false, set_mask_bits},
    {"padding", "Integers",
     "how many keys in front of each batch element are padding, (batch). As kv_begins, but positions count from "
     "the\n"
     "        first key after it, so a sequence has the bits that it has alone",
     in_attention, false, set_padding},
};

} // namespace

option_list visibility_options() {
  return {options, sizeof options / sizeof *options};
}

} // namespace fovea_python
