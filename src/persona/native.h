/* SPDX-License-Identifier: MIT */
/* Private to the program's own face: what its rows name, and the rows of each verb. */
#ifndef ND_PERSONA_NATIVE_H
#define ND_PERSONA_NATIVE_H

#include "persona/int.h"

#define ND_MAX_LOSS_PPM 500000ull /* of --find-rate */

/* native_rows.c: a verb's rows write into struct nd_plan. */
extern const struct nd_opt_set nd_persona_serve_set, nd_persona_stream_set, nd_persona_packets_set,
	nd_persona_connect_set, nd_persona_latency_set;

/* native_values.c: lists for nd_opt.values. Name number @n, NULL behind the last; @ret_help: a phrase, or NULL. */
const char *nd_persona_engine_names(size_t n, const char **ret_help);
const char *nd_persona_wait_names(size_t n, const char **ret_help);
const char *nd_persona_tx_names(size_t n, const char **ret_help);
const char *nd_persona_rx_names(size_t n, const char **ret_help);
const char *nd_persona_dscp_names(size_t n, const char **ret_help);

/* native_values.c: for nd_opt.parse; 0, or -EINVAL and -ENOMEM with a sentence in @ctx->err. */
/** nd_persona_parse_dscp() - a code point, as number or by name. */
int nd_persona_parse_dscp(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx);
/** nd_persona_parse_engine() - one of @row's names; one that this build lacks is told from one that nobody knows. */
int nd_persona_parse_engine(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx);
/** nd_persona_parse_request() - bytes, REQUEST[,RESPONSE]; one size is used for both. */
int nd_persona_parse_request(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx);
/** nd_persona_parse_lowat() - bytes, or "auto", or "off". */
int nd_persona_parse_lowat(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx);
/** nd_persona_parse_gso() - a number of datagrams, or "auto", or "off". */
int nd_persona_parse_gso(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx);
/** nd_persona_parse_sizes() - bytes: one size, up to ND_MAX_SIZES of them by commas, or "imix". */
int nd_persona_parse_sizes(const struct nd_opt *row, const char *value, struct nd_opt_ctx *ctx);

#endif
