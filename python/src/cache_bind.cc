/* Caches in Python. */
#include "cache.h"

namespace fovea_python {

namespace {

cache *contiguous(int64_t batch, int64_t rows, int64_t kv_heads, int64_t qk_dim, nb::handle v_dim, int64_t layers,
                  nb::handle dtype, nb::handle format, bool panels, nb::handle k_scale, nb::handle v_scale) {
  int64_t values = v_dim.is_none() ? qk_dim : integer_of(v_dim, "v_dim");
  return new cache(cache_kind::contiguous, {batch, batch, rows, kv_heads, qk_dim, values, layers}, dtype, format,
                   panels, k_scale, v_scale);
}

cache *ring(int64_t batch, int64_t rows, int64_t kv_heads, int64_t qk_dim, nb::handle v_dim, int64_t layers,
            nb::handle dtype, nb::handle format, bool panels, nb::handle k_scale, nb::handle v_scale) {
  int64_t values = v_dim.is_none() ? qk_dim : integer_of(v_dim, "v_dim");
  return new cache(cache_kind::ring, {batch, batch, rows, kv_heads, qk_dim, values, layers}, dtype, format, panels,
                   k_scale, v_scale);
}

cache *paged(int64_t batch, int64_t pages, int64_t page_rows, int64_t kv_heads, int64_t qk_dim, nb::handle v_dim,
             int64_t layers, nb::handle dtype, nb::handle format, bool panels, nb::handle k_scale,
             nb::handle v_scale) {
  int64_t values = v_dim.is_none() ? qk_dim : integer_of(v_dim, "v_dim");
  return new cache(cache_kind::paged, {batch, pages, page_rows, kv_heads, qk_dim, values, layers}, dtype, format,
                   panels, k_scale, v_scale);
}

nb::list lens(const cache &cache) {
  nb::list numbers;
  for (int64_t length : cache.view()->lens) numbers.append(length);
  return numbers;
}

#define COMMON                                                                                                     \
  nb::kw_only(), nb::arg("v_dim") = nb::none(), nb::arg("layers") = 1, nb::arg("dtype") = "float32",               \
                 nb::arg("format") = nb::none(), nb::arg("panels") = false, nb::arg("k_scale") = nb::none(),       \
                 nb::arg("v_scale") = nb::none(), nb::rv_policy::take_ownership
#define COMMON_TYPES                                                                                               \
  "kv_heads: int, qk_dim: int, *, v_dim: int | None = None, layers: int = 1, dtype: str | tuple[str, str] = "      \
  "'float32', format: str | tuple[str | None, str | None] | None = None, panels: bool = False, k_scale: Tensor | " \
  "float | None = None, v_scale: Tensor | float | None = None) -> Cache"

} // namespace

void bind_cache(nb::module_ &module) {
  nb::class_<cache>(
      module, "Cache",
      "Keys and values of `batch` sequences, in memory of its own: contiguous(), paged() or ring() makes one.\n"
      "\n"
      "    layers: how many layers of a model share it\n"
      "    dtype: of elements, 'float32', 'float16' or 'bfloat16'; or a pair, of keys and of values\n"
      "    format: a quantised format instead, 'q8_0', 'i8_rows', 'e4m3', ...; or a pair (docs/formats.md)\n"
      "    panels: keys lie 16 side by side, the fastest for decoding\n"
      "    k_scale, v_scale: of formats whose scales all keys share, one number or float32 (layers, kv_heads, "
      "...)\n"
      "\n"
      "attention(q, cache=cache, layer=0) attends over it. Only one thread may change a cache at a time.")
      .def_static("contiguous", contiguous, nb::arg("batch"), nb::arg("rows"), nb::arg("kv_heads"),
                  nb::arg("qk_dim"), COMMON, nb::sig("def contiguous(batch: int, rows: int, " COMMON_TYPES),
                  "Room for `rows` rows of each sequence.")
      .def_static("ring", ring, nb::arg("batch"), nb::arg("rows"), nb::arg("kv_heads"), nb::arg("qk_dim"), COMMON,
                  nb::sig("def ring(batch: int, rows: int, " COMMON_TYPES),
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
      .def_prop_ro("lens", lens, nb::sig("def lens(self) -> list[int]"), "how many rows each sequence has had")
      .def_prop_ro("free_pages", &cache::free_pages, "of a paged cache")
      .def_prop_ro("nbytes", &cache::bytes, "bytes of keys, values and scales");
}

} // namespace fovea_python
