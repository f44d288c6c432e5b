/* How ggml loads the plugin: which ggml it is, and what the environment asks for. */
#include "door.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>

Ggml fovea_ggml;

void *fovea_ggml_find(void *place, const char *name) {
  Dl_info info;
  const bool known = dladdr(place, &info) && info.dli_fname;
  void *library = known ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  return dlsym(library ? library : RTLD_DEFAULT, name);
}

abi::Registry *fovea_ggml_refuse(const char *format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const char *line = "fovea: %s; ggml goes on without it\n";
  if (fovea_ggml.log) fovea_ggml.log(abi::LOG_ERROR, line, text);
  if (!fovea_ggml.log) fprintf(stderr, line, text);
  return nullptr;
}

namespace {

/* Finds the functions in the library that calls the plugin, and in what it is linked to, since a process may hold
 * several ggml. Returns the name of the first that is missing. */
const char *find_functions(void *caller) {
  const char *missing = nullptr;
  auto find = [&](auto &function, const char *name) {
    void *found = fovea_ggml_find(caller, name);
    memcpy(&function, &found, sizeof found);
    if (!found && !missing) missing = name;
  };
  find(fovea_ggml.log, "ggml_log_internal");
  find(fovea_ggml.version, "ggml_version");
  find(fovea_ggml.op_name, "ggml_op_name");
  find(fovea_ggml.type_name, "ggml_type_name");
  find(fovea_ggml.graph_n_nodes, "ggml_graph_n_nodes");
  find(fovea_ggml.graph_node, "ggml_graph_node");
  find(fovea_ggml.cpu_buffer_type, "ggml_backend_cpu_buffer_type");
  find(fovea_ggml.buft_is_host, "ggml_backend_buft_is_host");
  find(fovea_ggml.dev_by_type, "ggml_backend_dev_by_type");
  find(fovea_ggml.dev_init, "ggml_backend_dev_init");
  find(fovea_ggml.backend_free, "ggml_backend_free");
  find(fovea_ggml.f16_to_f32, "ggml_fp16_to_fp32_row");
  return missing;
}

/* By where the device is in an object of the CPU backend: the layout changed within 0.9.11. 0: it is another one. */
int count_backend_functions() {
  abi::Device *cpu = fovea_ggml.dev_by_type(abi::DEVICE_CPU);
  void **backend = cpu ? fovea_ggml.dev_init(cpu, nullptr) : nullptr;
  if (!backend) return 0;
  const bool old = backend[1 + abi::OLD_FUNCTIONS] == cpu,
             known = old || backend[1 + abi::BACKEND_FUNCTIONS] == cpu;
  fovea_ggml.backend_free(backend);
  return old ? abi::OLD_FUNCTIONS : known ? abi::BACKEND_FUNCTIONS : 0;
}

/* Numbers of operations depend on the version. Those of views are smaller than FLASH_ATTN_EXT's. */
void find_operations() {
  for (int op = 0; fovea_ggml.flash_attention == 0; op++) {
    const char *name = fovea_ggml.op_name(op);
    for (const char *view : {"NONE", "RESHAPE", "VIEW", "PERMUTE", "TRANSPOSE"})
      if (strcmp(name, view) == 0 && op < 64) fovea_ggml.views |= uint64_t{1} << op;
    if (strcmp(name, "FLASH_ATTN_EXT") == 0) fovea_ggml.flash_attention = op;
  }
}

/* The number of the name that a variable has in a list, 0 if it is not set; -1 after a refusal. */
int choice(const char *variable, const char *const names[], int count, const char *all) {
  const char *name = getenv(variable);
  for (int i = 0; i < count; i++)
    if (!name || strcmp(name, names[i]) == 0) return i;
  fovea_ggml_refuse("%s is \"%s\", not %s", variable, name, all);
  return -1;
}

/* Takes the way that the environment asks for, in a ggml that is known. */
abi::Registry *take_way() {
  static const char *const ways[] = {"device", "threads", "alone"}, *const modes[] = {"exact", "bf16", "int8"};
  const int way = choice("FOVEA_GGML", ways, 3, "device, threads or alone");
  const int mode = way < 0 ? -1 : choice("FOVEA_GGML_MODE", modes, 3, "exact, bf16 or int8");
  if (mode < 0) return nullptr;
  fovea_ggml.mode = static_cast<fovea_mode>(mode);
  if (mode != FOVEA_MODE_EXACT) fovea_allow_amx(nullptr); /* the same bits with and without it */
  fovea_library_info info;
  fovea_library_info_init(&info);
  fovea_info(&info);
  if (strcmp(info.isa, "scalar") == 0)
    return fovea_ggml_refuse("Fovea has no kernels for this CPU%s",
                             *info.environment ? ", or FOVEA_ISA forbids them" : "");
  fovea_ggml.way = static_cast<Ggml::Way>(way == Ggml::ALONE || fovea_ggml_hook_threads() ? way : Ggml::ALONE);
  if (way == Ggml::THREADS && fovea_ggml.way != way)
    return fovea_ggml_refuse("ggml %s hides what FOVEA_GGML=threads needs", fovea_ggml.version());
  fovea_ggml.log(abi::LOG_INFO, "fovea: attention by Fovea %s, %s, %s, %s\n", info.version, info.isa,
                 ways[fovea_ggml.way], modes[mode]);
  return fovea_ggml_registry();
}

} // namespace

/* What ggml_backend_load() calls. */
extern "C" __attribute__((visibility("default"))) abi::Registry *ggml_backend_init() {
  static void *loader;
  void *caller = __builtin_return_address(0), *version_of = fovea_ggml_find(caller, "ggml_version");
  if (loader && loader != version_of)
    return fovea_ggml_refuse("the plugin serves one ggml of a process, and another one has loaded it");
  const char *missing = find_functions(caller);
  if (missing)
    return fovea_ggml_refuse("this ggml is older than 0.9.4 or hides its functions: there is no %s", missing);
  int major = 0, minor = 0, patch = 0;
  sscanf(fovea_ggml.version(), "%d.%d.%d", &major, &minor, &patch);
  const int version = minor * 100 + patch;
  if (major != 0 || version < 904 || version >= 2600)
    return fovea_ggml_refuse("ggml %s is not known, but 0.9.4 to 0.25", fovea_ggml.version());
  fovea_ggml.backend_functions = count_backend_functions();
  if (!fovea_ggml.backend_functions)
    return fovea_ggml_refuse("ggml %s has no CPU backend, or one of another layout", fovea_ggml.version());
  find_operations();
  loader = version_of;
  return take_way();
}
