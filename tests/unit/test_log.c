/* SPDX-License-Identifier: MIT */
/* test_log.c - log settings and messages. */
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "support/support.h"

#include <criterion/redirect.h> /* breaks assertions unless included last */

typedef struct sink {
    int n;
    tg_log_level level;
    char component[32];
    char message[4000];
} sink;

static void keep(tg_log_level level, const char *component, const char *message,
                 void *user)
{
    sink *s = user;
    s->n++;
    s->level = level;
    snprintf(s->component, sizeof s->component, "%s", component);
    snprintf(s->message, sizeof s->message, "%s", message);
}

/* Parses `setting` as the value of an environment variable. */
static void init_from(tgi_log *log, const char *text, sink *s)
{
    static const tgi_setting setting = {.variable = "TGJIT_TEST_LOG",
                                        .kind = TGI_SETTING_KEYWORDS,
                                        .keywords = tgi_log_keywords,
                                        .default_value = TG_LOG_WARN};
    uint64_t bits;
    unsetenv(setting.variable);
    if (text)
        setenv(setting.variable, text, 1);
    cr_assert_eq(tgi_setting_read(&setting, NULL, NULL, &bits), TG_OK);
    tgi_log_init(log, (uint32_t)bits, keep, s);
    cr_assert_eq(tgi_setting_read(&setting, NULL, log, &bits), TG_OK);
}

/* The most verbose level that is enabled for a component. */
static tg_log_level shown(const tgi_log *log, tgi_log_component component)
{
    int level = TG_LOG_OFF;
    while (level < TG_LOG_DEBUG &&
           tgi_log_is_enabled(log, (tg_log_level)(level + 1), component))
        level++;
    return (tg_log_level)level;
}

Test(log, settings_choose_levels_and_components)
{
    static const struct {
        const char *setting;
        tg_log_level trace, pass;
    } cases[] = {
        {NULL, TG_LOG_WARN, TG_LOG_WARN},
        {"", TG_LOG_WARN, TG_LOG_WARN},
        {"off", TG_LOG_OFF, TG_LOG_OFF},
        {"warn", TG_LOG_WARN, TG_LOG_WARN},
        {"info", TG_LOG_INFO, TG_LOG_INFO},
        {"debug", TG_LOG_DEBUG, TG_LOG_DEBUG},
        {"+trace", TG_LOG_DEBUG, TG_LOG_WARN},
        {"info,+trace", TG_LOG_DEBUG, TG_LOG_INFO},
        {"off,+pass", TG_LOG_OFF, TG_LOG_DEBUG},
        {"+trace,+pass,off", TG_LOG_DEBUG, TG_LOG_DEBUG},
        {" info , +pass ,, ", TG_LOG_INFO, TG_LOG_DEBUG},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sink s = {0};
        tgi_log log;
        init_from(&log, cases[i].setting, &s);
        cr_expect_eq(shown(&log, TGI_LOG_TRACE), cases[i].trace, "case %zu", i);
        cr_expect_eq(shown(&log, TGI_LOG_PASS), cases[i].pass, "case %zu", i);
        cr_expect_eq(s.n, 0, "case %zu: %s", i, s.message);
    }
}

Test(log, unknown_keywords_are_warned_of_once_each)
{
    sink s = {0};
    tgi_log log;
    init_from(&log, "loud,+trace,loud,+nothing,info", &s);
    cr_assert_eq(s.n, 2);
    cr_assert_eq(s.level, TG_LOG_WARN);
    cr_assert_str_eq(s.component, "config");
    cr_assert_not_null(strstr(s.message, "'+nothing' is not one of off, warn"),
                       "%s", s.message);
    cr_assert_eq(log.level, TG_LOG_INFO);
    s.n = 0;
    init_from(&log, "loud,off", &s);
    cr_assert_eq(s.n, 0, "the log is off");
    init_from(&log, "+,tracee,tra,+tra", &s);
    cr_assert_eq(s.n, 4);
}

Test(log, messages_below_the_level_are_dropped)
{
    sink s = {0};
    tgi_log log;
    init_from(&log, "info,+jit", &s);
    tgi_log_write(&log, TG_LOG_INFO, TGI_LOG_CALL, "call %d", 5);
    cr_assert_eq(s.n, 1);
    cr_assert_eq(s.level, TG_LOG_INFO);
    cr_assert_str_eq(s.component, "call");
    cr_assert_str_eq(s.message, "call 5");
    tgi_log_write(&log, TG_LOG_DEBUG, TGI_LOG_CALL, "no");
    tgi_log_write(&log, TG_LOG_OFF, TGI_LOG_CALL, "no");
    cr_assert_eq(s.n, 1);
    tgi_log_write(&log, TG_LOG_DEBUG, TGI_LOG_JIT, "yes");
    cr_assert_eq(s.n, 2);
}

Test(log, long_messages_are_whole_or_cut_without_memory)
{
    sink s = {0};
    tgi_log log;
    tgi_log_init(&log, TG_LOG_WARN, keep, &s);
    tgi_log_write(&log, TG_LOG_WARN, TGI_LOG_CALL, "%3000d", 1);
    cr_assert_eq(strlen(s.message), 3000);
    cr_assert_eq(s.message[2999], '1');
    tgi_alloc_inject_failure(0, 1);
    tgi_log_write(&log, TG_LOG_WARN, TGI_LOG_CALL, "%3000d", 1);
    tgi_alloc_inject_failure(-1, 0);
    cr_assert_eq(s.n, 2);
    cr_assert_eq(s.message[0], ' ');
    cr_assert_lt(strlen(s.message), 3000);
    check_nothing_is_alive();
}

Test(log, goes_to_stderr_without_a_callback, .init = cr_redirect_stderr)
{
    tgi_log log;
    tgi_log_init(&log, TG_LOG_WARN, NULL, NULL);
    tgi_log_write(&log, TG_LOG_WARN, TGI_LOG_MEMORY, "%s", "text");
    fflush(stderr);
    cr_assert_stderr_eq_str("tgjit: warn: memory: text\n");
}
