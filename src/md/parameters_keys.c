/* SPDX-License-Identifier: Apache-2.0 */
/* The .mdp keys that are implemented, with GROMACS's defaults. */
#include "md/parameters_table.h"

static const tg_mdp_choice integrators[] = {
    {"md", TG_INTEGRATOR_LEAP_FROG, "leap-frog molecular dynamics", NULL},
    {"steep", TG_INTEGRATOR_STEEPEST_DESCENT, "steepest-descent energy minimisation", NULL},
    {"md-vv", 0, NULL, "use integrator = md (leap-frog)"},
    {"md-vv-avek", 0, NULL, "use integrator = md (leap-frog)"},
    {"sd", 0, NULL, "use integrator = md with tcoupl = v-rescale"},
    {"sd1", 0, NULL, "use integrator = md with tcoupl = v-rescale"},
    {"bd", 0, NULL, "use integrator = md with tcoupl = v-rescale"},
    {"cg", 0, NULL, "use integrator = steep"},
    {"l-bfgs", 0, NULL, "use integrator = steep"},
    {"nm", 0, NULL, "normal modes are not computed; md and steep are supported"},
    {"tpi", 0, NULL, "test-particle insertion is not computed; md and steep are supported"},
    {"tpic", 0, NULL, "test-particle insertion is not computed; md and steep are supported"},
    {"mimic", 0, NULL, "MiMiC is not supported; use integrator = md"},
    {NULL, 0, NULL, NULL}};

static const tg_mdp_choice comm_modes[] = {
    {"linear", TG_COMM_LINEAR, "the motion of the centre of mass is removed", NULL},
    {"none", TG_COMM_NONE, "the motion of the centre of mass is kept", NULL},
    {"angular", 0, NULL, "it is for systems without periodic images; use comm-mode = Linear"},
    {"linear-acceleration-correction", 0, NULL, "use comm-mode = Linear"},
    {NULL, 0, NULL, NULL}};

static const char use_reaction_field[] =
    "use coulombtype = Reaction-Field (with epsilon-rf = 0) or Cut-off";

static const tg_mdp_choice coulomb_types[] = {
    {"cut-off", TG_COULOMB_CUT_OFF, "Coulomb cut off: a reaction field without a response", NULL},
    {"reaction-field", TG_COULOMB_REACTION_FIELD, "reaction field", NULL},
    {"ewald", 0, NULL, use_reaction_field},
    {"pme", 0, NULL, use_reaction_field},
    {"p3m-ad", 0, NULL, use_reaction_field},
    {"pme-switch", 0, NULL, use_reaction_field},
    {"pme-user", 0, NULL, use_reaction_field},
    {"pme-user-switch", 0, NULL, use_reaction_field},
    {"poisson", 0, NULL, use_reaction_field},
    {"switch", 0, NULL, use_reaction_field},
    {"shift", 0, NULL, use_reaction_field},
    {"user", 0, NULL, use_reaction_field},
    {"fmm", 0, NULL, use_reaction_field},
    {"generalized-reaction-field", 0, NULL, use_reaction_field},
    {"reaction-field-zero", 0, NULL, use_reaction_field},
    {"reaction-field-nec", 0, NULL, use_reaction_field},
    {"encad-shift", 0, NULL, use_reaction_field},
    {NULL, 0, NULL, NULL}};

static const tg_mdp_choice modifiers[] = {
    {"potential-shift", TG_MODIFIER_POTENTIAL_SHIFT, "shifted to zero at the cut-off", NULL},
    {"potential-shift-verlet", TG_MODIFIER_POTENTIAL_SHIFT, "shifted to zero at the cut-off", NULL},
    {"none", TG_MODIFIER_NONE, "not shifted", NULL},
    {"exact-cutoff", TG_MODIFIER_NONE, "not shifted", NULL},
    {"force-switch", 0, NULL, "use Potential-shift or None"},
    {"potential-switch", 0, NULL, "use Potential-shift or None"},
    {NULL, 0, NULL, NULL}};

static const tg_mdp_choice constraint_kinds[] = {
    {"none", TG_CONSTRAIN_NONE, "no bond becomes a constraint", NULL},
    {"h-bonds", TG_CONSTRAIN_H_BONDS, "bonds with an H become constraints", NULL},
    {"all-bonds", TG_CONSTRAIN_ALL_BONDS, "all bonds become constraints", NULL},
    {"h-angles", 0, NULL, "use constraints = h-bonds or all-bonds"},
    {"all-angles", 0, NULL, "use constraints = all-bonds"},
    {NULL, 0, NULL, NULL}};

static const tg_mdp_choice thermostats[] = {
    {"no", TG_THERMOSTAT_NONE, "no thermostat", NULL},
    {"berendsen", TG_THERMOSTAT_BERENDSEN, "Berendsen thermostat", NULL},
    {"v-rescale", TG_THERMOSTAT_V_RESCALE, "stochastic velocity rescaling", NULL},
    {"yes", TG_THERMOSTAT_BERENDSEN, "Berendsen thermostat", NULL},
    {"nose-hoover", 0, NULL, "use tcoupl = v-rescale"},
    {"andersen", 0, NULL, "use tcoupl = v-rescale"},
    {"andersen-massive", 0, NULL, "use tcoupl = v-rescale"},
    {"andersen-interval", 0, NULL, "use tcoupl = v-rescale"},
    {NULL, 0, NULL, NULL}};

#define AT(field) offsetof(tg_mdp_reading, field)
#define NUMBER(name, kind, field, low, text, unit, meaning)                                        \
  { name, kind, AT(field), 0, low, false, false, unit, text, meaning, NULL }
#define POSITIVE(name, kind, field, text, unit, meaning)                                           \
  { name, kind, AT(field), 0, 0, true, false, unit, text, meaning, NULL }
#define OR_NEVER(name, kind, field, low, text, unit, meaning)                                      \
  { name, kind, AT(field), 0, low, false, true, unit, text, meaning, NULL }
#define PERIOD(name, field, text, meaning)                                                         \
  { name, TG_MDP_INT, AT(field), 0, 0, false, false, "steps", text, meaning, NULL }
#define CHOICE(name, field, text, list)                                                            \
  { name, TG_MDP_CHOICE, AT(field), 0, 0, false, false, "", text, "", list }
#define BOOLEAN(name, field, text, meaning)                                                        \
  { name, TG_MDP_BOOL, AT(field), 0, 0, false, false, "", text, meaning, NULL }
#define LIST(name, kind, field, count, unit, meaning)                                              \
  { name, kind, AT(field), AT(count), 0, false, false, unit, "", meaning, NULL }

/* clang-format off */
const tg_mdp_key tg_mdp_keys[] = {
    LIST("include", TG_MDP_INCLUDES, p.includes, p.include_count, "", "folders for #include"),
    LIST("define", TG_MDP_DEFINES, p.defines, p.define_count, "", "names for the topology"),
    CHOICE("integrator", p.integrator, "md", integrators),
    NUMBER("tinit", TG_MDP_REAL, p.tinit, -1e300, "0", "ps", "time of step 0"),
    NUMBER("dt", TG_MDP_REAL, p.dt, -1e300, "0.001", "ps", "time step"),
    OR_NEVER("nsteps", TG_MDP_INT64, p.steps, 0, "0", "", "steps to run"),
    NUMBER("init-step", TG_MDP_INT64, p.init_step, 0, "0", "", "first step's number"),
    CHOICE("comm-mode", p.comm_mode, "Linear", comm_modes),
    NUMBER("nstcomm", TG_MDP_INT, p.nstcomm, -1e300, "100", "steps",
           "centre-of-mass removal every"),
    LIST("comm-grps", TG_MDP_WORDS, p.comm_groups, p.comm_group_count, "", "groups"),
    NUMBER("ld-seed", TG_MDP_INT64, p.ld_seed, -1e300, "-1", "", "seed of the thermostat"),
    POSITIVE("emtol", TG_MDP_REAL, p.em_tolerance, "10", "kJ/mol/nm", "largest force at the end"),
    POSITIVE("emstep", TG_MDP_REAL, p.em_step, "0.01", "nm", "first step's length"),
    PERIOD("nstxout", p.nstxout, "0", "positions (.trr) every"),
    PERIOD("nstvout", p.nstvout, "0", "velocities (.trr) every"),
    PERIOD("nstfout", p.nstfout, "0", "forces (.trr) every"),
    PERIOD("nstlog", p.nstlog, "1000", "energies to the log every"),
    PERIOD("nstcalcenergy", p.nstcalcenergy, "100", "energies computed every"),
    PERIOD("nstenergy", p.nstenergy, "1000", "energies written every"),
    PERIOD("nstxout-compressed", p.nstxout_compressed, "0", "positions (.xtc) every"),
    POSITIVE("compressed-x-precision", TG_MDP_REAL, p.compressed_precision, "1000", "1/nm",
             "precision of .xtc positions"),
    LIST("compressed-x-grps", TG_MDP_WORDS, p.compressed_groups, p.compressed_group_count, "",
         "groups"),
    NUMBER("nstlist", TG_MDP_INT, p.nstlist, -1e300, "10", "steps", "pair list renewed every"),
    OR_NEVER("verlet-buffer-tolerance", TG_MDP_REAL, p.verlet_buffer_tolerance, 0, "0.005",
             "kJ/mol/ps", "energy drift per atom allowed by the list's buffer"),
    NUMBER("rlist", TG_MDP_REAL, p.rlist, 0, "1", "nm", "list radius"),
    CHOICE("coulombtype", p.coulomb_type, "Cut-off", coulomb_types),
    CHOICE("coulomb-modifier", p.coulomb_modifier, "Potential-shift", modifiers),
    POSITIVE("rcoulomb", TG_MDP_REAL, rcoulomb, "1", "nm", "Coulomb cut-off"),
    POSITIVE("epsilon-r", TG_MDP_REAL, p.epsilon_r, "1", "", "relative permittivity"),
    NUMBER("epsilon-rf", TG_MDP_REAL, p.epsilon_rf, 0, "0", "", "permittivity beyond the cut-off"),
    CHOICE("vdw-modifier", p.vdw_modifier, "Potential-shift", modifiers),
    POSITIVE("rvdw", TG_MDP_REAL, rvdw, "1", "nm", "Lennard-Jones cut-off"),
    CHOICE("tcoupl", p.thermostat, "No", thermostats),
    OR_NEVER("nsttcouple", TG_MDP_INT, nsttcouple, 1, "-1", "steps", "thermostat acts every"),
    LIST("tc-grps", TG_MDP_WORDS, p.temperature_groups, p.temperature_group_count, "", "groups"),
    {"tau-t", TG_MDP_REALS, AT(p.tau_t), AT(tau_count), 0, false, true, "ps", "", "coupling times",
     NULL}, /* -1: the group is not coupled */
    LIST("ref-t", TG_MDP_REALS, p.ref_t, ref_count, "K", "temperatures"),
    BOOLEAN("gen-vel", p.generate_velocities, "no", "velocities drawn at the start"),
    NUMBER("gen-temp", TG_MDP_REAL, p.gen_temp, 0, "300", "K", "temperature of drawn velocities"),
    NUMBER("gen-seed", TG_MDP_INT64, p.gen_seed, -1e300, "-1", "", "seed of drawn velocities"),
    CHOICE("constraints", p.constraints, "none", constraint_kinds),
    BOOLEAN("continuation", p.continuation, "no", "the start is kept as it is, not constrained"),
    NUMBER("lincs-order", TG_MDP_INT, p.lincs_order, 1, "4", "", "order of the LINCS expansion"),
    NUMBER("lincs-iter", TG_MDP_INT, p.lincs_iterations, 1, "1", "", "LINCS corrections"),
    POSITIVE("lincs-warnangle", TG_MDP_REAL, p.lincs_warn_angle, "30", "degrees",
             "turn of a bond that is warned about"),
};
/* clang-format on */

const size_t tg_mdp_key_count = sizeof tg_mdp_keys / sizeof *tg_mdp_keys;
