/* The table of nn's operations. */
#define FOVEA_NN_STRING_(text) #text
#define FOVEA_NN_STRING(text)  FOVEA_NN_STRING_(text)
#define FOVEA_NN_TABLE_(isa)   fovea_nn_kernels_##isa
#define FOVEA_NN_TABLE(isa)    FOVEA_NN_TABLE_(isa)

/* The operations of the other translation unit, variants.h. */
/* clang-format off */
#define FOVEA_NN_VARIANTS(OPERATION) \
  OPERATION(void, halves, const fovea_nn_halves_args *args) \
  OPERATION(void, features, const fovea_nn_features_args *args) \
  OPERATION(void, maxima, const fovea_nn_features_args *args) \
  OPERATION(void, totals, const fovea_nn_totals_args *args) \
  OPERATION(void, inverses, const fovea_nn_inverses_args *args) \
  OPERATION(void, quotients, const fovea_nn_quotients_args *args) \
  OPERATION(void, prefix, const fovea_nn_prefix_args *args) \
  OPERATION(void, recurrence, const fovea_nn_recurrence_args *args) \
  OPERATION(void, decay, const fovea_nn_decay_args *args) \
  OPERATION(void, unit, const fovea_nn_unit_args *args) \
  OPERATION(void, read_state, const fovea_nn_read_args *args) \
  OPERATION(void, lsh_hash, const fovea_nn_lsh_hash_args *args) \
  OPERATION(void, lsh_merge, const fovea_nn_lsh_merge_args *args) \
  OPERATION(void, outer, const fovea_nn_outer_args *args) \
  OPERATION(void, differ, const fovea_nn_differ_args *args) \
  OPERATION(void, lambda, const fovea_nn_lambda_args *args) \
  OPERATION(void, index, const fovea_nn_index_args *args) \
  OPERATION(void, top_filter, const fovea_top_filter_args *args) \
  OPERATION(void, top_select, fovea_top_list *list, int k) \
  OPERATION(void, top_finish, const fovea_top_finish_args *args) \
  OPERATION(void, graph_rows, const fovea_nn_graph_rows_args *args) \
  OPERATION(void, graph_scores, const fovea_nn_graph_scores_args *args) \
  OPERATION(void, graph_sums, const fovea_nn_graph_sums_args *args) \
  OPERATION(void, graph_weights, const fovea_nn_graph_weights_args *args) \
  OPERATION(void, graph_values, const fovea_nn_graph_values_args *args) \
  OPERATION(void, graph_merge, const fovea_nn_graph_merge_args *args) \
  OPERATION(void, graph_finish, const fovea_nn_graph_finish_args *args) \
  OPERATION(void, graph_shares, const fovea_nn_graph_shares_args *args)
#define TABLE_DECLARE(type, op, ...) type FOVEA_NAME(nn_##op)(__VA_ARGS__);
FOVEA_NN_VARIANTS(TABLE_DECLARE)
#define TABLE_FILL(type, op, ...) .op = FOVEA_NAME(nn_##op),

const fovea_nn_kernels FOVEA_NN_TABLE(FOVEA_ISA) = {
    .name = FOVEA_NN_STRING(FOVEA_ISA),
    .row_step = FOVEA_NN_TILE_ROWS,
    .widen = FOVEA_NAME(nn_widen),
    .widen_weights = FOVEA_NAME(nn_widen_weights),
    .dot = FOVEA_NAME(nn_dot),
    .dot_few = FOVEA_NAME(nn_dot_few),
#if FOVEA_BUILDS_FORMATS
    .widen_codes = FOVEA_NAME(nn_widen_codes),
    .dot_codes = FOVEA_NAME(nn_dot_codes),
#endif
#ifdef FOVEA_NN_MANY_ROWS
    .tile_rows = FOVEA_NN_MANY_ROWS,
    .tile_stride = MANY_STRIDE,
    .tile_least = FOVEA_NN_MANY_LEAST,
    .tile_outs = FOVEA_NN_MANY_VECTORS * LANES,
    .task_tiles = FOVEA_NN_TASK_TILES,
    .task_outs = FOVEA_NN_TASK_OUTS,
    .many_weights = FOVEA_NN_MANY_WEIGHTS,
    .tile = FOVEA_NAME(nn_tile),
    .pack = FOVEA_NAME(nn_pack),
#endif
#if FOVEA_BUILDS_BF16
    .bf16 = &FOVEA_NAME(nn_bf16),
#endif
    .finish = FOVEA_NAME(nn_finish),
    .embed = FOVEA_NAME(nn_embed),
    .activate = FOVEA_NAME(nn_activate),
    .norm = FOVEA_NAME(nn_norm),
    .softmax = FOVEA_NAME(nn_softmax),
    .additive = FOVEA_NAME(nn_additive),
    .weights = FOVEA_NAME(nn_weights),
    .gather = FOVEA_NAME(nn_gather),
    .divide = FOVEA_NAME(nn_divide),
    .average = FOVEA_NAME(nn_average),
    .gru = FOVEA_NAME(nn_gru),
    .lstm = FOVEA_NAME(nn_lstm),
    FOVEA_NN_VARIANTS(TABLE_FILL)
};
/* clang-format on */
