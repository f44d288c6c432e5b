/* The table of nn's operations. */
#define FOVEA_NN_STRING_(text) #text
#define FOVEA_NN_STRING(text)  FOVEA_NN_STRING_(text)
#define FOVEA_NN_TABLE_(isa)   fovea_nn_kernels_##isa
#define FOVEA_NN_TABLE(isa)    FOVEA_NN_TABLE_(isa)

const fovea_nn_kernels FOVEA_NN_TABLE(FOVEA_ISA) = {
    .name = FOVEA_NN_STRING(FOVEA_ISA),
    .row_step = FOVEA_NN_TILE_ROWS,
    .widen = FOVEA_NAME(nn_widen),
    .widen_weights = FOVEA_NAME(nn_widen_weights),
    .dot = FOVEA_NAME(nn_dot),
    .dot_few = FOVEA_NAME(nn_dot_few),
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
    .graph_rows = FOVEA_NAME(nn_graph_rows),
    .graph_scores = FOVEA_NAME(nn_graph_scores),
    .graph_sums = FOVEA_NAME(nn_graph_sums),
    .graph_weights = FOVEA_NAME(nn_graph_weights),
    .graph_values = FOVEA_NAME(nn_graph_values),
    .graph_merge = FOVEA_NAME(nn_graph_merge),
    .graph_finish = FOVEA_NAME(nn_graph_finish),
    .graph_shares = FOVEA_NAME(nn_graph_shares),
};
