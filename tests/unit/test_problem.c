// Problems: text form, defaults, checks and classes.
#include "cmocka_all.h"

#include <stdio.h>

#include <flashcl/tune.h>

#include "attention/problem.h"

static struct fcl_problem parse(const char *text)
{
    struct fcl_problem problem;
    char reason[512] = "";
    if (fcl_problem_parse(text, &problem, reason, sizeof reason) != FCL_OK)
        fail_msg("%s: %s", text, reason);
    return problem;
}

static void assert_same(const struct fcl_problem *a, const struct fcl_problem *b)
{
    char text_a[256], text_b[256];
    fcl_problem_format(a, text_a, sizeof text_a);
    fcl_problem_format(b, text_b, sizeof text_b);
    assert_string_equal(text_a, text_b);
    assert_true(fcl_problem_same_kernel(a, b));
    assert_int_equal(a->batch, b->batch);
    assert_int_equal(a->heads_q, b->heads_q);
    assert_int_equal(a->heads_kv, b->heads_kv);
    assert_int_equal(a->q_len, b->q_len);
    assert_int_equal(a->k_len, b->k_len);
}

static void every_field_is_read(void **state)
{
    (void)state;
    const struct fcl_problem p = parse(
        "fwd b2 h32/8 q4096 k1000 d192/128 f16 causal-br lse guard-v strided layout=bshd align=4");
    assert_int_equal(p.struct_size, sizeof p);
    assert_int_equal(p.pass, FCL_PASS_FORWARD);
    assert_int_equal(p.batch, 2);
    assert_int_equal(p.heads_q, 32);
    assert_int_equal(p.heads_kv, 8);
    assert_int_equal(p.q_len, 4096);
    assert_int_equal(p.k_len, 1000);
    assert_int_equal(p.head_dim_qk, 192);
    assert_int_equal(p.head_dim_v, 128);
    assert_int_equal(p.dtype_q, FCL_F16);
    assert_int_equal(p.dtype_k, FCL_F16);
    assert_int_equal(p.dtype_v, FCL_F16);
    assert_int_equal(p.dtype_o, FCL_F16);
    assert_int_equal(p.mask, FCL_MASK_CAUSAL_BOTTOM_RIGHT);
    assert_int_equal(p.lse, 1);
    assert_int_equal(p.guard_v, 1);
    assert_int_equal(p.strided, 1);
    assert_int_equal(p.layout, FCL_LAYOUT_BSHD);
    assert_int_equal(p.alignment, 4);
}

static void absent_fields_have_defaults(void **state)
{
    (void)state;
    const struct fcl_problem p = parse("fwd q7 d64");
    assert_int_equal(p.batch, 1);
    assert_int_equal(p.heads_q, 1);
    assert_int_equal(p.heads_kv, 1);
    assert_int_equal(p.k_len, 7);
    assert_int_equal(p.head_dim_v, 64);
    assert_int_equal(p.dtype_o, FCL_F32);
    assert_int_equal(p.mask, FCL_MASK_NONE);
    assert_int_equal(p.layout, FCL_LAYOUT_BHSD);
    assert_int_equal(p.alignment, 16);
    assert_int_equal(p.lse + p.guard_v + p.strided, 0);
    const struct fcl_problem empty = parse("fwd q0 k5 b0 d64");
    assert_int_equal(empty.batch, 0);
    assert_int_equal(empty.q_len, 0);
    assert_int_equal(empty.k_len, 5);
}

// Each text is as format writes it; `written` in another order or with defaults means the same.
static void formatting_is_shortest_and_round_trips(void **state)
{
    (void)state;
    static const struct {
        const char *written, *shortest;
    } cases[] = {
        {"fwd b1 h1 q16 k16 d64 f32 none layout=bhsd align=16", "fwd q16 d64"},
        {"fwd align=4 layout=bshd lse causal-br f16 d192/128 k4096 q4096 h32/8 b2",
         "fwd b2 h32/8 q4096 d192/128 f16 causal-br lse layout=bshd align=4"},
        {"  fwd\tq3  k0\n d5/5 h4/4 ", "fwd h4 q3 k0 d5"},
        {"fwd q1 d64 q:f32 k:f16 v:f16 o:f32", "fwd q1 d64 q:f32 k:f16 v:f16 o:f32"},
        {"fwd q1 d64 q:bf16 k:bf16 v:bf16 o:bf16", "fwd q1 d64 bf16"},
        {"fwd q1 k2 d64 causal-tl guard-v strided", "fwd q1 k2 d64 causal-tl guard-v strided"},
        {"fwd win=256,0 q1 d64 causal-br lse", "fwd q1 d64 causal-br win=256,0 lse"},
        {"fwd q1 d64 tl win=0,7", "fwd q1 d64 tl win=0,7"},
        {"fwd q1 d64 br win=-1,1073741824", "fwd q1 d64 br win=-1,1073741824"},
        {"fwd q1 d64 causal-tl win=3,-1", "fwd q1 d64 causal-tl win=3,-1"},
        {"fwd softcap=30 q1 d64 lse", "fwd q1 d64 softcap=30 lse"},
        {"fwd q1 d64 softcap=0", "fwd q1 d64"},
        {"fwd lse sink q1 d64", "fwd q1 d64 sink lse"},
        {"fwd used varlen q1 d64 layout=bhsd", "fwd q1 d64 varlen used"},
        {"fwd page=16 used q1 d64 layout=bshd", "fwd q1 d64 page=16 layout=bshd"},
        {"fwd varlen page=1 q1 d64", "fwd q1 d64 varlen page=1"},
        {"fwd page=0 q1 d64", "fwd q1 d64"},
        {"fwd sink alibi q1 d64 causal-tl", "fwd q1 d64 causal-tl alibi sink"},
        {"fwd q1 d64 br alibi=given", "fwd q1 d64 br alibi=given"},
        {"fwd q1 d64 alibi=none", "fwd q1 d64"},
        {"fwd q1 bias=bf16 d64 f16", "fwd q1 d64 f16 bias=bf16"},
        {"fwd q1 d64 bias=none", "fwd q1 d64"},
        {"fwd mask=u8 q1 d64 causal-tl bias=f32", "fwd q1 d64 causal-tl bias=f32 mask=u8"},
        {"fwd q1 d64 mask=none", "fwd q1 d64"},
        {"fwd q1 d64 br win=-1,-1", "fwd q1 d64"}, // hides nothing
        {"fwd q1 d64 win=-1,-1", "fwd q1 d64"},
        {"fwd q1 d64 tl", "fwd q1 d64"},
        {"fwd b0 q0 d1024", "fwd b0 q0 d1024"},
        {"fwd q1 d5 f16 align=2", "fwd q1 d5 f16"},
        {"fwd q1 d64 align=256", "fwd q1 d64 align=256"},
        {"lse b1 h8 q128 d64", "lse h8 q128 d64"},
        {"lse q2 d64/32 lse guard-v q:f16 k:bf16 v:f32 o:f32", "lse q2 d64 q:f16 k:bf16"},
        {"lse q2 d64 q:f16 k:f16", "lse q2 d64 f16"},
    };
    for (size_t i = 0; i < FCL_COUNT(cases); i++) {
        const struct fcl_problem p = parse(cases[i].written);
        char text[256];
        const size_t length = fcl_problem_format(&p, text, sizeof text);
        assert_string_equal(text, cases[i].shortest);
        assert_int_equal(length, strlen(text));
        const struct fcl_problem again = parse(text);
        assert_same(&p, &again);
    }
}

static void formatting_cuts_at_the_size(void **state)
{
    (void)state;
    const struct fcl_problem p = parse("fwd q16 d64");
    char text[8] = "#######";
    assert_int_equal(fcl_problem_format(&p, text, 5), 11);
    assert_string_equal(text, "fwd ");
    assert_int_equal(text[5], '#');
    assert_int_equal(fcl_problem_format(&p, NULL, 0), 11);
    assert_int_equal(fcl_problem_format(NULL, text, sizeof text), 0);
    assert_string_equal(text, "");
    const struct fcl_problem no_size = {.batch = 1};
    assert_int_equal(fcl_problem_format(&no_size, text, sizeof text), 0);
}

// Text, the word that the reason must name and something of what is allowed.
static void wrong_words_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *word, *allowed;
    } cases[] = {
        {"", "``", "fwd and lse"},
        {"bwd q1 d64", "`bwd`", "fwd and lse"},
        {"q1 d64 fwd", "`q1`", "fwd and lse"},
        {"fwd q1 d64 causal", "`causal`", "causal-tl"},
        {"fwd q1 d64 causal", "`causal`", "causal-br"},
        {"fwd q1 d64 causal", "`causal`", "which corner"},
        {"fwd q1 d64 foo", "`foo`", "layout=bhsd|bshd"},
        {"fwd q1 d64 foo", "`foo`", "none|causal-tl|causal-br"},
        {"fwd q1 d64 foo", "`foo`", "hN[/N]"},
        {"fwd q1 d64 foo", "`foo`", " f32|f16|bf16 "},
        {"fwd q1 d64 F16", "`F16`", "f16"},
        {"fwd q1 d64 fwd", "`fwd`", "allowed"},
        {"fwd q1 d64 window=3", "`window=3`", "align=N"},
        {"fwd q1 d64 q2", "`q2`", "q_len is given twice"},
        {"fwd q1 d64 h2 h2", "`h2`", "heads_q is given twice"},
        {"fwd q1 d64 lse lse", "`lse`", "lse is given twice"},
        {"fwd q1 d64 none causal-br", "`causal-br`", "mask is given twice"},
        {"fwd q1 d64 f16 f16", "`f16`", "dtype_q is given twice"},
        {"fwd q1 d64 f16 o:f32", "`o:f32`", "dtype_o is given twice"},
        {"fwd q1 d64 q:f16", "`k:`", "one for each"},
        {"fwd q1 d64 o:f99", "`o:f99`", "o:f32|f16|bf16"},
        {"fwd q1 d64 layout=sbhd", "`layout=sbhd`", "layout=bhsd|bshd"},
        {"fwd d64", "`q`", "missing"},
        {"fwd q1", "`d`", "missing"},
        {"fwd q d64", "`q`", "from 0 to 1073741824"},
        {"fwd q1x d64", "`q1x`", "qN"},
        {"fwd q-1 d64", "`q-1`", "from 0 to"},
        {"fwd q+1 d64", "`q+1`", "from 0 to"},
        {"fwd q1.5 d64", "`q1.5`", "qN"},
        {"fwd q1/2 d64", "`q1/2`", "qN"},
        {"fwd q1073741825 d64", "`q1073741825`", "1073741824"},
        {"fwd q1 d64 b99999999999999999999999", "`b99999999999999999999999`", "bN"},
        {"fwd q1 d64 h0", "`h0`", "from 1 to"},
        {"fwd q1 d64 h8/0", "`h8/0`", "from 1 to"},
        {"fwd q1 d64 h8/", "`h8/`", "hN[/N]"},
        {"fwd q1 d64 h8/2/2", "`h8/2/2`", "hN[/N]"},
        {"fwd q1 d64 h/8", "`h/8`", "hN[/N]"},
        {"fwd q1 d0", "`d0`", "from 1 to 1024"},
        {"fwd q1 d64/0", "`d64/0`", "from 1 to 1024"},
        {"fwd q1 d64 align=3", "alignment is 3", "powers of two"},
        {"fwd q1 d64 align=0", "`align=0`", "from 1 to 4096"},
        {"fwd q1 d64 align=8192", "`align=8192`", "from 1 to 4096"},
        {"fwd q1 d64 align=x", "`align=x`", "align=N"},
        {"fwd q1 d64 h6/4", "heads_q is 6", "heads_kv, 4"},
        {"fwd q1 d64 softcap=-3", "`softcap=-3`", "from 0 to 1000000"},
        {"fwd q1 d64 softcap=", "`softcap=`", "softcap=N"},
        {"fwd q1 d64 page=-1", "`page=-1`", "from 0 to 1073741824"},
        {"fwd q1 d64 win=3,4", "mask is none", "causal-tl, causal-br, tl and br"},
        {"fwd q1 d64 alibi", "mask is none", "causal-tl, causal-br, tl and br"},
        {"fwd q1 d64 br alibi=2", "`alibi=2`", "alibi|alibi=given"},
        {"fwd q1 d64 br alibi alibi=given", "`alibi=given`", "alibi is given twice"},
        {"fwd q1 d64 bias", "`bias`", "bias=none|f32|f16|bf16"},
        {"fwd q1 d64 bias=f8", "`bias=f8`", "bias=none|f32|f16|bf16"},
        {"fwd q1 d64 mask=b1", "`mask=b1`", "mask=none|u8"},
        {"fwd q1 d64 br win=3", "`win=3`", "win=LEFT,RIGHT"},
        {"fwd q1 d64 br win=", "`win=`", "win=LEFT,RIGHT"},
        {"fwd q1 d64 br win=3,", "`win=3,`", "win=LEFT,RIGHT"},
        {"fwd q1 d64 br win=3,4,5", "`win=3,4,5`", "win=LEFT,RIGHT"},
        {"fwd q1 d64 br win=-2,4", "`win=-2,4`", "-1 for no bound"},
        {"fwd q1 d64 br win=3,-14", "`win=3,-14`", "-1 for no bound"},
        {"fwd q1 d64 br win=1073741825,4", "`win=1073741825,4`", "0 to 1073741824"},
        {"fwd q1 d64 br win=3,4 win=3,4", "`win=3,4`", "window is given twice"},
        {"fwd q1 d64 br causal-br", "`causal-br`", "mask is given twice"},
        {"fwd q1 d5 align=16", "head_dim_qk 5", "20 bytes"},
    };
    for (size_t i = 0; i < FCL_COUNT(cases); i++) {
        struct fcl_problem problem;
        char reason[512] = "";
        memset(&problem, 0x5a, sizeof problem);
        const struct fcl_problem before = problem;
        assert_int_equal(fcl_problem_parse(cases[i].text, &problem, reason, sizeof reason),
                         FCL_INVALID_ARGUMENT);
        assert_memory_equal(&problem, &before, sizeof problem);
        if (strstr(reason, cases[i].word) == NULL || strstr(reason, cases[i].allowed) == NULL)
            fail_msg("%s: `%s` lacks %s or %s", cases[i].text, reason, cases[i].word,
                     cases[i].allowed);
    }
}

static void reasons_are_optional_and_cut(void **state)
{
    (void)state;
    struct fcl_problem problem;
    char reason[12] = "###########", text[4096];
    assert_int_equal(fcl_problem_parse("fwd", &problem, NULL, 0), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_problem_parse("fwd foo", &problem, reason, 6), FCL_INVALID_ARGUMENT);
    assert_string_equal(reason, "`foo`");
    assert_int_equal(fcl_problem_parse(NULL, &problem, NULL, 0), FCL_INVALID_ARGUMENT);
    assert_int_equal(fcl_problem_parse("fwd q1 d64", NULL, NULL, 0), FCL_INVALID_ARGUMENT);
    memset(text, 'x', sizeof text);
    memcpy(text, "fwd ", 4);
    text[sizeof text - 1] = 0;
    char whole[1024];
    assert_int_equal(fcl_problem_parse(text, &problem, whole, sizeof whole), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(whole, "allowed are"));
}

static void head_dims_beyond_the_limit_are_unsupported(void **state)
{
    (void)state;
    char reason[256];
    struct fcl_problem p = parse("fwd q1 d1024");
    assert_int_equal(fcl_problem_parse("fwd q1 d1025", &p, reason, sizeof reason), FCL_UNSUPPORTED);
    assert_non_null(strstr(reason, "1024"));
    p.head_dim_v = 2048;
    assert_int_equal(fcl_problem_validate(&p, reason, sizeof reason), FCL_UNSUPPORTED);
    assert_non_null(strstr(reason, "head_dim_v is 2048"));
}

static void init_gives_a_valid_problem(void **state)
{
    (void)state;
    struct fcl_problem p;
    fcl_problem_init(&p);
    assert_int_equal(fcl_problem_validate(&p, NULL, 0), FCL_OK);
    char text[64];
    fcl_problem_format(&p, text, sizeof text);
    assert_string_equal(text, "fwd q0 d64");
}

static void validation_names_the_field(void **state)
{
    (void)state;
    const struct fcl_problem good =
        fcl_problem(.batch = 2, .heads_q = 4, .q_len = 8, .k_len = 8, .head_dim_qk = 64);
    assert_int_equal(fcl_problem_validate(&good, NULL, 0), FCL_OK);
    struct fcl_problem bad[] = {good, good, good, good, good, good, good, good,
                                good, good, good, good, good, good, good};
    static const char *const names[FCL_COUNT(bad)] = {
        "pass is 7",     "batch is -1",       "heads_q is 0",     "heads_kv is -1", "q_len is -5",
        "k_len is 2147", "head_dim_qk is 0",  "head_dim_v is -1", "dtype_k is 3",   "mask is 5",
        "layout is 2",   "alignment is 8192", "lse is 2",         "guard_v is -1",  "struct_size",
    };
    bad[0].pass = (enum fcl_pass)7;
    bad[1].batch = -1;
    bad[2].heads_q = 0;
    bad[3].heads_kv = -1;
    bad[4].q_len = -5;
    bad[5].k_len = INT32_MAX;
    bad[6].head_dim_qk = 0;
    bad[7].head_dim_v = -1;
    bad[8].dtype_k = (enum fcl_dtype)3;
    bad[9].mask = (enum fcl_mask)5;
    bad[10].layout = (enum fcl_layout)2;
    bad[11].alignment = 8192;
    bad[12].lse = 2;
    bad[13].guard_v = -1;
    bad[14].struct_size = 0;
    for (size_t i = 0; i < FCL_COUNT(bad); i++) {
        char reason[256] = "";
        assert_int_equal(fcl_problem_validate(&bad[i], reason, sizeof reason),
                         FCL_INVALID_ARGUMENT);
        if (strstr(reason, names[i]) == NULL)
            fail_msg("`%s` lacks `%s`", reason, names[i]);
    }
    assert_int_equal(fcl_problem_validate(NULL, NULL, 0), FCL_INVALID_ARGUMENT);
}

static void tensors_beyond_64_bits_are_refused(void **state)
{
    (void)state;
    char reason[256] = "";
    struct fcl_problem p =
        parse("fwd b1073741824 h1 q1048576 k1 d1024"); // 2^30 x 2^20 x 2^10 x 4 bytes = 2^62
    p.q_len *= 2;
    assert_int_equal(fcl_problem_validate(&p, reason, sizeof reason), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "q of 1073741824 x 1 x 2097152 x 1024"));
    p.q_len = 1;
    p.k_len = 1 << 30;
    assert_int_equal(fcl_problem_validate(&p, reason, sizeof reason), FCL_INVALID_ARGUMENT);
    assert_non_null(strstr(reason, "k of"));
    p.batch = 0;
    assert_int_equal(fcl_problem_validate(&p, reason, sizeof reason), FCL_OK);
}

static void default_alignment_is_what_contiguous_rows_keep(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int alignment;
    } cases[] = {
        {"fwd q1 d64", 16},
        {"fwd q1 d1", 4},
        {"fwd q1 d2", 8},
        {"fwd q1 d5", 4},
        {"fwd q1 d1 f16", 2},
        {"fwd q1 d4 f16", 8},
        {"fwd q1 d80 bf16", 16},
        {"fwd q1 d64/3 f16", 2},
        {"fwd q1 d64/2", 8},
        {"lse q1 d64/3 f16", 16},
        {"fwd q1 d1024", 16},
        {"fwd q1 d4 q:f32 k:f16 v:f32 o:f32", 8},
        {"fwd q1 d64/4 q:f32 k:f32 v:f32 o:f16", 8},
    };
    for (size_t i = 0; i < FCL_COUNT(cases); i++)
        assert_int_equal(parse(cases[i].text).alignment, cases[i].alignment);
}

static void alignments_that_rows_break_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"fwd q1 d5 align=8", "rows of q with head_dim_qk 5 are 20 bytes"},
        {"fwd q1 d64/5 align=8", "rows of v with head_dim_v 5 are 20 bytes"},
        {"fwd q1 d64 align=2", "at least the 4 bytes of an element"},
        {"fwd q1 d64 f16 align=1", "at least the 2 bytes of an element"},
        {"fwd q1 d48 f16 align=64", "96 bytes"},
    };
    for (size_t i = 0; i < FCL_COUNT(cases); i++) {
        struct fcl_problem p;
        char reason[256] = "";
        assert_int_equal(fcl_problem_parse(cases[i].text, &p, reason, sizeof reason),
                         FCL_INVALID_ARGUMENT);
        if (strstr(reason, cases[i].reason) == NULL)
            fail_msg("%s: `%s`", cases[i].text, reason);
    }
    assert_int_equal(parse("fwd q1 d1024 align=4096").alignment, 4096);
    assert_int_equal(parse("lse q1 d64/5 align=32").alignment, 32);
    // Rows of two bytes and of four: the promise is the smaller, whatever the larger elements.
    assert_int_equal(parse("fwd q1 d1 q:f16 k:f16 v:f16 o:f32").alignment, 2);
    assert_int_equal(parse("fwd q1 d64 q:f16 k:f16 v:f16 o:f32 align=2").alignment, 2);
}

static void older_structs_are_completed(void **state)
{
    (void)state;
    struct fcl_problem p = fcl_problem(.batch = 1, .heads_q = 6, .q_len = 3, .head_dim_qk = 40,
                                       .lse = 1, .strided = 1);
    struct fcl_problem full;
    p.struct_size = offsetof(struct fcl_problem, guard_v);
    assert_int_equal(fcl_problem_complete(&p, &full, NULL, 0), FCL_OK);
    assert_int_equal(full.heads_kv, 6);
    assert_int_equal(full.head_dim_v, 40);
    assert_int_equal(full.lse, 1);
    assert_int_equal(full.strided, 0);
    assert_int_equal(full.struct_size, sizeof full);
}

static void layouts_have_their_strides(void **state)
{
    (void)state;
    int64_t strides[4];
    fcl_layout_strides(FCL_LAYOUT_BHSD, 3, 5, 7, strides);
    const int64_t bhsd[4] = {105, 35, 7, 1}, bshd[4] = {105, 7, 21, 1};
    assert_memory_equal(strides, bhsd, sizeof strides);
    fcl_layout_strides(FCL_LAYOUT_BSHD, 3, 5, 7, strides);
    assert_memory_equal(strides, bshd, sizeof strides);
    fcl_layout_strides(FCL_LAYOUT_BHSD, 1 << 20, 1 << 20, 1024, strides);
    assert_int_equal(strides[0], INT64_C(1) << 50);
}

static void classes_say_what_is_baked_in(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum fcl_implementation implementation;
        const char *problem_class;
    } cases[] = {
        {"fwd h8 q1024 d64 causal-br", FCL_FUSED, "fused fwd d64 f32 causal bh3 q10 k10 g1"},
        {"fwd h8 q1024 d64 causal-tl", FCL_FUSED, "fused fwd d64 f32 causal bh3 q10 k10 g1"},
        {"fwd h8 q1025 k1 d64", FCL_UNFUSED, "unfused fwd d64 f32 bh3 q11 k0 g1"},
        {"fwd b2 h32/8 q0 k3 d192/128 f16 lse guard-v strided layout=bshd align=4", FCL_FUSED,
         "fused fwd d192/128 f16 lse guard-v strided align=4 bh6 q0 k2 g4"},
        {"fwd b0 q2 d64 q:f16 k:f16 v:f16 o:f32", FCL_FUSED,
         "fused fwd d64 q:f16 k:f16 v:f16 o:f32 bh0 q1 k1 g1"},
        {"lse b3 h2 q5 d5/7 bf16", FCL_FUSED, "fused lse d5 bf16 bh3 q3 k3 g1"},
        {"fwd q5 d64 causal-br win=100,-1", FCL_FUSED,
         "fused fwd d64 f32 causal win=128,-1 bh0 q3 k3 g1"},
        {"fwd q5 d64 softcap=30 lse", FCL_FUSED, "fused fwd d64 f32 softcap=1 lse bh0 q3 k3 g1"},
        {"fwd q5 d64 sink lse", FCL_FUSED, "fused fwd d64 f32 sink lse bh0 q3 k3 g1"},
        {"fwd q5 d64 varlen used", FCL_FUSED, "fused fwd d64 f32 varlen used bh0 q3 k3 g1"},
        {"fwd q5 d64 page=64", FCL_FUSED, "fused fwd d64 f32 page=1 bh0 q3 k3 g1"},
        {"fwd q5 d64 mask=u8", FCL_FUSED, "fused fwd d64 f32 mask=u8 bh0 q3 k3 g1"},
        {"fwd q5 d64 bias=f16", FCL_FUSED, "fused fwd d64 f32 bias=f16 bh0 q3 k3 g1"},
        {"fwd q5 d64 br alibi", FCL_FUSED, "fused fwd d64 f32 alibi bh0 q3 k3 g1"},
        {"fwd q5 d64 causal-tl alibi=given", FCL_FUSED,
         "fused fwd d64 f32 causal alibi=given bh0 q3 k3 g1"},
        {"fwd q5 d64 br win=0,3", FCL_FUSED, "fused fwd d64 f32 win=0,4 bh0 q3 k3 g1"},
    };
    for (size_t i = 0; i < FCL_COUNT(cases); i++) {
        const struct fcl_problem p = parse(cases[i].text);
        char text[256];
        const size_t length = fcl_problem_class(&p, cases[i].implementation, text, sizeof text);
        assert_string_equal(text, cases[i].problem_class);
        assert_int_equal(length, strlen(text));
    }
    struct fcl_problem invalid = parse("fwd q1 d64");
    invalid.heads_q = 0;
    char text[8] = "#";
    assert_int_equal(fcl_problem_class(&invalid, FCL_FUSED, text, sizeof text), 0);
    assert_string_equal(text, "");
}

// Alignments that are only a contiguous row's own do not split classes.
static void classes_omit_natural_alignments(void **state)
{
    (void)state;
    const struct fcl_problem p = parse("fwd q1 d5 f16");
    char text[128];
    fcl_problem_class(&p, FCL_FUSED, text, sizeof text);
    assert_string_equal(text, "fused fwd d5 f16 bh0 q0 k0 g1");
}

static void dtype_names(void **state)
{
    (void)state;
    assert_string_equal(fcl_dtype_text(FCL_F32), "f32");
    assert_string_equal(fcl_dtype_text(FCL_F16), "f16");
    assert_string_equal(fcl_dtype_text(FCL_BF16), "bf16");
    assert_string_equal(fcl_dtype_text((enum fcl_dtype)9), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_is_read),
        cmocka_unit_test(absent_fields_have_defaults),
        cmocka_unit_test(formatting_is_shortest_and_round_trips),
        cmocka_unit_test(formatting_cuts_at_the_size),
        cmocka_unit_test(wrong_words_are_named),
        cmocka_unit_test(reasons_are_optional_and_cut),
        cmocka_unit_test(head_dims_beyond_the_limit_are_unsupported),
        cmocka_unit_test(init_gives_a_valid_problem),
        cmocka_unit_test(validation_names_the_field),
        cmocka_unit_test(tensors_beyond_64_bits_are_refused),
        cmocka_unit_test(default_alignment_is_what_contiguous_rows_keep),
        cmocka_unit_test(alignments_that_rows_break_are_refused),
        cmocka_unit_test(older_structs_are_completed),
        cmocka_unit_test(layouts_have_their_strides),
        cmocka_unit_test(classes_say_what_is_baked_in),
        cmocka_unit_test(classes_omit_natural_alignments),
        cmocka_unit_test(dtype_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
