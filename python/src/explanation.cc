#include "info.h"

#include <fovea/explain.h>
#include <nanobind/stl/string.h>

#include <cstdio>
#include <string>

namespace fovea_python {

namespace {

using explanation = fovea_explanation;

std::string text_of(const explanation &all) {
  char text[2048];
  std::snprintf(text, sizeof text,
                "%s (%s): %s\n"
                "rows: %jd tiled, %jd decoded, %jd gathered: %s\n"
                "parts of the keys: %jd: %s\n"
                "tasks: %jd in %d phases, for %d threads; %zu bytes of scratch\n"
                "blocks: %jd, of which %jd are empty, %jd full, %jd limited, %jd by a pattern, %jd by a mask\n"
                "pairs: %jd, of which %jd are visible, %jd computed\n"
                "work: %.4g operations, %.4g bytes read, %.4g bytes written",
                all.isa, all.table, all.isa_reason, (intmax_t)all.rows_tiled, (intmax_t)all.rows_decoded,
                (intmax_t)all.rows_gathered, all.rows_reason, (intmax_t)all.parts, all.parts_reason,
                (intmax_t)all.tasks, all.phases, all.workers, all.scratch_bytes, (intmax_t)all.blocks,
                (intmax_t)all.blocks_empty, (intmax_t)all.blocks_full, (intmax_t)all.blocks_limited,
                (intmax_t)all.blocks_bits, (intmax_t)all.blocks_masked, (intmax_t)all.pairs,
                (intmax_t)all.pairs_visible, (intmax_t)all.pairs_computed, all.flops, all.bytes_read,
                all.bytes_written);
  std::string lines = text;
  if (*all.products) lines += std::string("\nproducts: ") + all.products;
  if (*all.value_products) lines += std::string(", of the values ") + all.value_products;
  double least = all.compute_seconds > all.memory_seconds ? all.compute_seconds : all.memory_seconds;
  if (least > 0) std::snprintf(text, sizeof text, "\nat least %.4g s", least), lines += text;
  return lines;
}

} // namespace

void bind_explanation(nb::module_ &module) {
  nb::class_<explanation>(
      module, "Explanation",
      "What a plan does and why. Counts are as if there were no mask tensor, and as if keys lay in\n"
      "rows. str() has all of it as lines.")
      .def_ro("isa", &explanation::isa, "the instruction set")
      .def_ro("table", &explanation::table, "its table of kernels")
      .def_ro("isa_reason", &explanation::isa_reason, "why this one")
      .def_ro("lanes", &explanation::lanes, "numbers of a vector")
      .def_ro("row_tile", &explanation::row_tile, "rows of a tile, at most")
      .def_ro("rows_tiled", &explanation::rows_tiled, "rows in the lanes of vectors")
      .def_ro("rows_decoded", &explanation::rows_decoded, "rows whose keys are in the lanes of vectors")
      .def_ro("rows_gathered", &explanation::rows_gathered, "rows whose listed keys are gathered")
      .def_ro("rows_reason", &explanation::rows_reason, "why")
      .def_ro("tiles", &explanation::tiles, "row tiles, over all batch elements and kv heads")
      .def_ro("part_keys", &explanation::part_keys, "keys of a part; 0: not split")
      .def_ro("parts", &explanation::parts, "parts of all tiles")
      .def_ro("parts_reason", &explanation::parts_reason, "why keys are split or not")
      .def_ro("phases", &explanation::phases, "one after the other")
      .def_ro("tasks", &explanation::tasks, "of all phases")
      .def_ro("workers", &explanation::workers, "threads that run them")
      .def_ro("blocks", &explanation::blocks, "pairs of a row tile and a block of 128 keys")
      .def_ro("blocks_empty", &explanation::blocks_empty, "no row sees a key: skipped")
      .def_ro("blocks_full", &explanation::blocks_full, "every row sees every key")
      .def_ro("blocks_limited", &explanation::blocks_limited, "a row sees an interval of keys")
      .def_ro("blocks_bits", &explanation::blocks_bits, "a pattern says which keys a row sees")
      .def_ro("blocks_masked", &explanation::blocks_masked, "a mask tensor says it")
      .def_ro("pairs", &explanation::pairs, "of a row and a key, over all query heads")
      .def_ro("pairs_visible", &explanation::pairs_visible, "that the rules let rows see")
      .def_ro("pairs_computed", &explanation::pairs_computed, "lanes of padding included")
      .def_ro("flops", &explanation::flops, "2 * (qk_dim + v_dim) for each visible pair")
      .def_ro("bytes_read", &explanation::bytes_read, "each element once")
      .def_ro("bytes_written", &explanation::bytes_written)
      .def_ro("cached_elements", &explanation::cached_elements, "of K and V in caches")
      .def_ro("scratch_bytes", &explanation::scratch_bytes, "for these workers")
      .def_ro("compute_seconds", &explanation::compute_seconds, "the least time for the operations; 0: not known")
      .def_ro("memory_seconds", &explanation::memory_seconds, "the least time for the bytes; 0: not known")
      .def_ro("products", &explanation::products, "instructions that multiply in a mode; \"\": exact")
      .def_ro("value_products", &explanation::value_products, "the same for values")
      .def("__str__", text_of)
      .def("__repr__", text_of);
}

} // namespace fovea_python
