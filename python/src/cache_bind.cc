/* Caches in Python. */
#include "cache.h"

namespace fovea_python {

namespace {

/* Caches with a page for each sequence. */
template <cache_kind kind>
cache *with_rows(int64_t batch, int64_t rows, int64_t kv_heads, int64_t qk_dim, nb::handle v_dim, int64_t layers,
                 nb::handle dtype, nb::handle format, bool panels, nb::handle k_scale, nb::handle v_scale,
                 nb::handle memory, nb::handle lens, bool with_values) {
  int64_t values = v_dim.is_none() ? qk_dim : integer_of(v_dim, "v_dim");
  return new cache(kind, {batch, batch, rows, kv_heads, qk_dim, values, layers},
                   {dtype, format, panels, k_scale, v_scale, memory, lens, with_values});
}

cache *paged(int64_t batch, int64_t pages, int64_t page_rows, int64_t kv_heads, int64_t qk_dim, nb::handle v_dim,
             int64_t layers, nb::handle dtype, nb::handle format, bool panels, nb::handle k_scale,
             nb::handle v_scale, nb::handle memory, nb::handle lens, bool with_values) {
  int64_t values = v_dim.is_none() ? qk_dim : integer_of(v_dim, "v_dim");
  return new cache(cache_kind::paged, {batch, pages, page_rows, kv_heads, qk_dim, values, layers},
                   {dtype, format, panels, k_scale, v_scale, memory, lens, with_values});
}

nb::list lens(const cache &cache) {
  nb::list numbers;
  for (int64_t length : cache.view()->lens) numbers.append(length);
  return numbers;
}

#define COMMON                                                                                                     \
  nb::kw_only(), nb::arg("v_dim") = nb::none(), nb::arg("layers") = 1, nb::arg("dtype") = "float32",               \
                 nb::arg("format") = nb::none(), nb::arg("panels") = false, nb::arg("k_scale") = nb::none(),       \
                 nb::arg("v_scale") = nb::none(), nb::arg("memory") = nb::none(), nb::arg("lens") = nb::none(),    \
                 nb::arg("values") = true, nb::rv_policy::take_ownership
#define COMMON_TYPES                                                                                               \
  "kv_heads: int, qk_dim: int, *, v_dim: int | None = None, layers: int = 1, dtype: str | tuple[str, str] = "      \
  "'float32', format: str | tuple[str | None, str | None] | None = None, panels: bool = False, k_scale: Tensor | " \
  "float | None = None, v_scale: Tensor | float | None = None, memory: tuple[Tensor, Tensor] | None = None, "      \
  "lens: Integers | None = None, values: bool = True) -> Cache"

} // namespace

void bind_cache(nb::module_ &module) {
  nb::class_<cache>(
      module, "Cache",
      "Keys and values of `batch` sequences: contiguous(), paged() or ring() makes one.\n"
      "\n"
      "    layers: how many layers of a model share it\n"
      "    dtype: of elements, 'float32', 'float16' or 'bfloat16'; or a pair, of keys and of values\n"
      "    format: a quantised format instead, 'q8_0', 'i8_rows', 'e4m3', ...; or a pair (docs/formats.md)\n"
      "    panels: keys lie 16 side by side, the fastest for decoding\n"
      "    k_scale, v_scale: of formats whose scales all keys share, one number or float32 (layers, kv_heads, "
      "...)\n"
      "    memory: keys and values in memory of the caller, which must not be changed while a call reads it: "
      "contiguous\n"
      "        tensors of any elements with the bytes of (layers, batch or pages, kv_heads, rows, dim). Default: "
      "the "
      "cache's\n"
      "        own\n"
      "    lens: how many rows of each sequence the memory has already, (batch); not of paged caches\n"
      "    values: False: values are the first v_dim dims of the keys, as latent attention has them\n"
      "\n"
      "attention(q, cache=cache, layer=0) attends over it. Only one thread may change a cache at a time.")
      .def_static("contiguous", with_rows<cache_kind::contiguous>, nb::arg("batch"), nb::arg("rows"),
                  nb::arg("kv_heads"), nb::arg("qk_dim"), COMMON,
                  nb::sig("def contiguous(batch: int, rows: int, " COMMON_TYPES),
                  "Room for `rows` rows of each sequence.")
      .def_static("ring", with_rows<cache_kind::ring>, nb::arg("batch"), nb::arg("rows"), nb::arg("kv_heads"),
                  nb::arg("qk_dim"), COMMON, nb::sig("def ring(batch: int, rows: int, " COMMON_TYPES),
                  "The latest `rows` rows of each sequence, for windows: at least window + new rows of a step.")
      .def_static("paged", paged, nb::arg("batch"), nb::arg("pages"), nb::arg("page_rows"), nb::arg("kv_heads"),
                  nb::arg("qk_dim"), COMMON,
                  nb::sig("def paged(batch: int, pages: int, page_rows: int, " COMMON_TYPES),
                  "`pages` pages of `page_rows` rows, which sequences take as they grow, and may share.")
      .def(
          "append", &cache::append, nb::arg("k"), nb::arg("v"), nb::kw_only(), nb::arg("layer") = 0,
          nb::arg("rotary") = nb::none(), nb::arg("row_lens") = nb::none(),
          nb::arg("rotary_positions") = nb::none(), nb::arg("hadamard") = nb::none(), nb::arg("threads") = 0,
          nb::sig(
              "def append(self, k: Tensor, v: Tensor, *, layer: int = 0, rotary: Rotary | None = None, row_lens: "
              "Integers | None = None, rotary_positions: Integers | None = None, hadamard: int | tuple[int, int] | "
              "None = None, threads: int = 0) -> None"),
          "Adds rows, (batch, kv_heads, rows, dim), after the rows of each sequence; row_lens says how many each "
          "has.\n"
          "Layer 0 adds them, other layers then write the same positions. Keys are rotated for their positions, or "
          "for\n"
          "rotary_positions (batch, rows), and quantised, with one rounding. hadamard: blocks of a Walsh-Hadamard\n"
          "rotation of keys and values, 0 for none. Raises OutOfMemoryError if there are too few free pages; "
          "nothing\n"
          "has been written then.")
      .def("truncate", &cache::truncate, nb::arg("lens"), nb::sig("def truncate(self, lens: Integers) -> None"),
           "Keeps the first lens[b] rows of each sequence; pages that are not needed become free.")
      .def("fork", &cache::fork, nb::arg("from_"), nb::arg("to"),
           "Sequence `to`, which must have no rows, shares all rows of sequence `from_`. Pages are copied when one "
           "of\n"
           "the two writes to them.")
      .def("move", &cache::move, nb::arg("sequence"), nb::arg("begin"), nb::arg("end"), nb::arg("to"),
           nb::kw_only(), nb::arg("rotary") = nb::none(), nb::arg("rotate_by") = nb::none(),
           nb::arg("hadamard") = 0, nb::arg("threads") = 0,
           nb::sig("def move(self, sequence: int, begin: int, end: int, to: int, *, rotary: Rotary | None = None, "
                   "rotate_by: int | None = None, hadamard: int = 0, threads: int = 0) -> None"),
           "Moves rows begin to end - 1 of a sequence to the rows from `to` on, in all layers: a context shift, or "
           "the\n"
           "eviction of old rows; truncate() then drops the last rows. With `rotary` keys get the angles of their "
           "new\n"
           "positions, or of rotate_by rows further. hadamard: as keys were appended with. Refuses shared pages.")
      .def_prop_ro("lens", lens, nb::sig("def lens(self) -> list[int]"), "how many rows each sequence has had")
      .def_prop_ro("free_pages", &cache::free_pages, "of a paged cache")
      .def_prop_ro("nbytes", &cache::bytes, "bytes of keys, values and scales");
}

} // namespace fovea_python
