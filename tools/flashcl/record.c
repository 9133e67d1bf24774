// Trials as entries of T4.
#include "record.h"

#include "choices.h"
#include "message.h"
#include "status.h"

#define PARAMETERS 32

struct parameters {
    struct results_setting items[PARAMETERS];
    size_t count;
};

static void add_parameter(struct parameters *parameters, const char *name, struct fcl_value value)
{
    parameters->items[parameters->count++] = (struct results_setting){name, value};
}

// The family and all tunables that it uses.
static struct parameters list_parameters(const struct fcl_config *config)
{
    struct parameters parameters = {.count = 0};
    add_parameter(&parameters, "family", fcl_value_text(fcl_family_text(config->family)));
#define FCL_X(field, key, macro, families, meaning)                           \
    if (((families) >> config->family & 1u) != 0) {                           \
        add_parameter(&parameters, #field, fcl_value_integer(config->field)); \
    }
    FCL_CONFIG_FIELDS(FCL_X)
#undef FCL_X
    return parameters;
}

int record_begin(struct results_writer *writer, const char *path, const struct options *options,
                 const struct session *session, const struct problem_entry *entry,
                 enum fcl_implementation implementation)
{
    struct fcl_choice choices[FCL_CHOICES];
    struct parameters standard = {.count = 0}, metadata = {.count = 0};
    size_t count;
    char reason[512];
    int code = choices_list(options, &entry->problem, implementation, session->caps, choices,
                            &count, reason, sizeof(reason));
    if (code != EXIT_OK && reason[0] == '\0') {
        return code;
    }
    if (count > 0) { // else tuning will say why not
        standard = list_parameters(&choices[0].config);
    }
    add_parameter(&metadata, "problem", fcl_value_text(entry->text));
    add_parameter(&metadata, "impl", fcl_value_text(implementation_text(implementation)));
    add_parameter(&metadata, "device", fcl_value_text(session->caps->name));
    add_parameter(&metadata, "driver", fcl_value_text(session->caps->driver));
    add_parameter(&metadata, "platform", fcl_value_text(session->caps->platform));
    add_parameter(&metadata, "flashcl", fcl_value_text(FCL_VERSION));
    return results_begin(writer, path, (struct results_settings){metadata.items, metadata.count},
                         (struct results_settings){standard.items, standard.count})
               ? EXIT_OK
               : EXIT_INTERNAL;
}

void record_trial(struct results_writer *writer, const struct fcl_trial *trial)
{
    struct fcl_config config;
    if (trial->status == FCL_UNSUPPORTED ||
        fcl_config_parse(trial->config, &config, NULL, 0) != FCL_OK) {
        return;
    }
    const int timed = trial->status == FCL_OK;
    const struct parameters parameters = list_parameters(&config);
    const struct results_measurement measurements[] = {{"time", "ms", trial->timing.median_ms},
                                                       {"time_min", "ms", trial->timing.min_ms},
                                                       {"spread", "", trial->timing.spread}};
    const struct results_entry entry = {
        .configuration = {parameters.items, parameters.count},
        .status = results_status(trial->status, trial->bad),
        .compilation_ms = trial->build_ms,
        .runtimes_ms = trial->timing.times_ms,
        .runtime_count = timed ? (size_t)trial->timing.kept : 0,
        .measurements = measurements,
        .measurement_count = timed ? sizeof(measurements) / sizeof(measurements[0]) : 0,
    };
    results_add(writer, &entry);
}
