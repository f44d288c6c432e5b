// The structs of abi.h against ggml's own headers, for the compiler alone. What headers do not show, ggml_backend and the
// structs around it, is checked by every run of a node.
#include "../src/abi.h"

#include <ggml-backend.h>
#include <ggml.h>

#define SAME(ours, field, theirs, their_field)                                                                     \
  static_assert(offsetof(ours, field) == offsetof(theirs, their_field) &&                                          \
                    sizeof(ours::field) == sizeof(theirs::their_field),                                            \
                #field)

SAME(abi::Tensor, type, ggml_tensor, type);
SAME(abi::Tensor, ne, ggml_tensor, ne);
SAME(abi::Tensor, nb, ggml_tensor, nb);
SAME(abi::Tensor, op, ggml_tensor, op);
SAME(abi::Tensor, op_params, ggml_tensor, op_params);
SAME(abi::Tensor, src, ggml_tensor, src);
SAME(abi::Tensor, data, ggml_tensor, data);
SAME(abi::DeviceProperties, name, ggml_backend_dev_props, name);
SAME(abi::DeviceProperties, memory_total, ggml_backend_dev_props, memory_total);
SAME(abi::DeviceProperties, type, ggml_backend_dev_props, type);
SAME(abi::DeviceProperties, device_id, ggml_backend_dev_props, device_id);
static_assert(offsetof(abi::DeviceProperties, async) == offsetof(ggml_backend_dev_props, caps.async), "async");
static_assert(offsetof(abi::DeviceProperties, events) == offsetof(ggml_backend_dev_props, caps.events), "events");
static_assert(sizeof(abi::DeviceProperties) <= sizeof(ggml_backend_dev_props), "nothing is written after it");

#define NUMBER(ours, theirs) static_assert(int{abi::ours} == static_cast<int>(theirs), #ours)

NUMBER(DEVICE_CPU, GGML_BACKEND_DEVICE_TYPE_CPU);
NUMBER(DEVICE_ACCEL, GGML_BACKEND_DEVICE_TYPE_ACCEL);
NUMBER(STATUS_FAILED, GGML_STATUS_FAILED);
NUMBER(STATUS_SUCCESS, GGML_STATUS_SUCCESS);
NUMBER(LOG_INFO, GGML_LOG_LEVEL_INFO);
NUMBER(LOG_ERROR, GGML_LOG_LEVEL_ERROR);
NUMBER(F32, GGML_TYPE_F32);
NUMBER(F16, GGML_TYPE_F16);
NUMBER(BF16, GGML_TYPE_BF16);
NUMBER(Q4_0, GGML_TYPE_Q4_0);
NUMBER(Q4_1, GGML_TYPE_Q4_1);
NUMBER(Q5_0, GGML_TYPE_Q5_0);
NUMBER(Q5_1, GGML_TYPE_Q5_1);
NUMBER(Q8_0, GGML_TYPE_Q8_0);
NUMBER(IQ4_NL, GGML_TYPE_IQ4_NL);
