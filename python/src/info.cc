#include "info.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace fovea_python {

namespace {

struct library_info {
  fovea_library_info info;
  std::vector<fovea_isa_report> sets;
};

library_info info() {
  library_info all;
  fovea_library_info_init(&all.info);
  fovea_error error = {FOVEA_ERROR_ARGUMENT, "", "The library gives no information"};
  check(fovea_info(&all.info), error);
  fovea_isa_report report;
  for (fovea_isa_report_init(&report); fovea_isa_at((int)all.sets.size(), &report) == FOVEA_OK;)
    all.sets.push_back(report);
  return all;
}

std::vector<fovea_group_report> groups(const library_info &all) {
  return std::vector<fovea_group_report>(all.info.groups, all.info.groups + all.info.group_count);
}

std::string text_of(const library_info &all) {
  std::string text = std::string("Fovea ") + all.info.version + " on " + all.info.cpu + ", threads by " +
                     all.info.threading + " (" + std::to_string(all.info.threads) + ")\n";
  if (*all.info.environment) text += std::string(all.info.environment) + "\n";
  for (const fovea_isa_report &set : all.sets)
    text += std::string(set.chosen ? "* " : "  ") + set.name + ": " + set.reason + "\n";
  for (const fovea_group_report &group : groups(all))
    if (!group.built) text += std::string("without ") + group.name + ": " + group.what + "\n";
  text.pop_back();
  return text;
}

void allow_amx() {
  fovea_error error;
  check(fovea_allow_amx(&error), error);
}

bool uses_amx(const char *mode) {
  return fovea_uses_amx(std::string(mode) == "int8" ? FOVEA_MODE_INT8 : FOVEA_MODE_BF16);
}

} // namespace

void bind_info(nb::module_ &module) {
  nb::class_<fovea_isa_report>(module, "InstructionSet", "One instruction set that this build has or could have.")
      .def_ro("name", &fovea_isa_report::name, "what the keyword isa and FOVEA_ISA take")
      .def_ro("base", &fovea_isa_report::base, "the set whose operations it has beside its own")
      .def_prop_ro(
          "usable", [](const fovea_isa_report &set) { return set.usable == 1; }, "isa may name it")
      .def_prop_ro(
          "chosen", [](const fovea_isa_report &set) { return set.chosen == 1; }, "taken if isa names none")
      .def_ro("reason", &fovea_isa_report::reason, "why it is chosen or not")
      .def("__repr__", [](const fovea_isa_report &set) { return std::string(set.name) + ": " + set.reason; });
  nb::class_<fovea_group_report>(module, "Group", "A group of kernels, which a build may leave out.")
      .def_ro("name", &fovea_group_report::name)
      .def_ro("what", &fovea_group_report::what, "what calls cannot have without it")
      .def_prop_ro(
          "built", [](const fovea_group_report &group) { return group.built == 1; }, "this build has it")
      .def("__repr__", [](const fovea_group_report &group) { return std::string(group.name); });
  nb::class_<library_info>(module, "Info", "What info() tells; str() has all of it as lines.")
      .def_prop_ro("version", [](const library_info &all) { return all.info.version; })
      .def_prop_ro(
          "cpu", [](const library_info &all) { return all.info.cpu; }, "the CPU's own name")
      .def_prop_ro(
          "isa", [](const library_info &all) { return all.info.isa; }, "the chosen instruction set")
      .def_prop_ro(
          "threading", [](const library_info &all) { return all.info.threading; }, "\"OpenMP\" or \"none\"")
      .def_prop_ro(
          "threads", [](const library_info &all) { return all.info.threads; }, "the default number of threads")
      .def_prop_ro(
          "environment", [](const library_info &all) { return all.info.environment; },
          "what FOVEA_ISA did, or why it was ignored; \"\" if it is not set")
      .def_ro("sets", &library_info::sets, "instruction sets, best first")
      .def_prop_ro("groups", groups, "groups of kernels")
      .def("__str__", text_of)
      .def("__repr__", text_of);
  module.def("info", info, "Tells about the library, the CPU and the instruction set that is chosen and why.");
  module.def(
      "allow_amx", allow_amx,
      "Lets bf16 and int8 mode use AMX, in the whole process; no result changes. Raises fovea.UnsupportedError.");
  module.def("uses_amx", uses_amx, nb::arg("mode"),
             "Whether what is in this mode, 'bf16' or 'int8', and names no isa uses AMX.");
}

} // namespace fovea_python
