/* SPDX-License-Identifier: Apache-2.0 */
/* Bad input to `throng md run`, as a user would meet it: exit code 2, a message that names the
 * place and the matter, and nothing written. Each case is a small edit of the example's files. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

#define EXAMPLE TG_SOURCE_DIR "/examples/ethanol-water/"

static char folder[64];

static int set_up(void** state) {
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/throng-bad-input-XXXXXX");
  return mkdtemp(folder) ? chdir(folder) : -1;
}

static int tear_down(void** state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "cd / && rm -rf '%s'", folder);
  return system(command);
}

/* Runs a shell command; both its streams' words land in the two texts. Returns the exit code. */
static int shell(const char* command, char* out, char* err, size_t size) {
  char line[4096];
  int length = snprintf(line, sizeof line, "{ %s ; } >stdout 2>stderr", command);
  assert_true(length > 0 && (size_t)length < sizeof line);
  int ended = system(line);
  assert_true(WIFEXITED(ended));
  char* texts[2] = {out, err};
  static const char* const names[2] = {"stdout", "stderr"};
  for (int i = 0; i < 2; i++) {
    FILE* stream = fopen(names[i], "r");
    assert_non_null(stream);
    texts[i][fread(texts[i], 1, size - 1, stream)] = '\0';
    fclose(stream);
  }
  return WEXITSTATUS(ended);
}

/* A whole file as one text. Release with tg_free. */
static char* slurp(const char* path) {
  FILE* stream = fopen(path, "rb");
  if (!stream) fail_msg("%s cannot be read", path);
  fseek(stream, 0, SEEK_END);
  size_t size = (size_t)ftell(stream);
  rewind(stream);
  char* text = NULL;
  assert_int_equal(TG_ALLOCATE(size + 1, "text", &text), TG_OK);
  assert_int_equal(fread(text, 1, size, stream), size);
  fclose(stream);
  return text;
}

/* The example's file in the working folder, with the first `find` replaced (none where NULL; "": at
 * its end). */
static void edit(const char* file, const char* find, const char* replacement) {
  char path[512];
  snprintf(path, sizeof path, EXAMPLE "%s", file);
  char* text = slurp(path);
  FILE* stream = fopen(file, "wb");
  assert_non_null(stream);
  const char* at = !find ? NULL : *find ? strstr(text, find) : text + strlen(text);
  if (find && !at) fail_msg("%s has no '%s'", file, find);
  if (at) {
    fwrite(text, 1, (size_t)(at - text), stream);
    fputs(replacement, stream);
    fputs(at + strlen(find), stream);
  } else {
    fputs(text, stream);
  }
  assert_int_equal(fclose(stream), 0);
  tg_free(text);
}

static void pristine(void) {
  static const char* const files[] = {"conf.gro", "topol.top", "rf.mdp"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) edit(files[i], NULL, NULL);
}

typedef struct bad_case {
  const char* file; /* edited; NULL: none */
  const char* find;
  const char* replacement;
  const char* options; /* after -o out, or NULL */
  const char* place;   /* what the message begins with, "file:line:column: " */
  const char* words;   /* and has in it */
} bad_case;

#define MDP(line, place, words)                                                                    \
  { "rf.mdp", "", line "\n", NULL, place, words }
#define RESTRAINT "[ position_restraints ]\n1 1 1000 1000 1000\n\n[ moleculetype ]\n  SOL   2"

static const bad_case cases[] = {
    /* the topology */
    {"topol.top", "[ system ]", "#include \"missing.itp\"\n[ system ]", NULL,
     "topol.top:124:10: ", "'missing.itp' was not found"},
    {"topol.top", "[ system ]", "#include \"topol.top\"\n[ system ]", NULL,
     "topol.top:124:10: ", "circle"},
    {"topol.top", "1   opls_157  1 ", "1   opls_999  1 ", NULL, "topol.top:44:7: ", "opls_999"},
    {"topol.top", "ETH  125", "EtOH 125", NULL, "topol.top:128:3: ", "'EtOH' is not defined"},
    {"topol.top", "SOL  1500", "SOL  1501", NULL, "conf.gro:2: ", "5625 atoms"},
    {"topol.top", "SOL  1500", "SOL  many", NULL, "topol.top:129:8: ", "many"},
    {"topol.top", "SOL  1500", "SOL", NULL, "topol.top:129", "[ molecules ]"},
    {"topol.top", "[ angles ]", "[ angels ]", NULL, "topol.top:78:1: ", "[ angels ]"},
    {"topol.top", "  1  5  1\n", "  1  5  1  0.15  nan\n", NULL, "topol.top:55:18: ", "nan"},
    {"topol.top", "  1  5  1\n", "  1  15  1\n", NULL, "topol.top:55:6: ", "atom 15"},
    {"topol.top", "[ defaults ]", "#ifdef WATER\n[ defaults ]", NULL, "topol.top:5:1: ", "#endif"},
    {"topol.top", "[ defaults ]", "#pragma once\n[ defaults ]", NULL,
     "topol.top:5:1: ", "preprocessor"},
    {"topol.top", "[ settles ]", "[ virtual_sites3 ]", NULL, "topol.top:117:3: ", "virtual_sites3"},
    {"topol.top", "[ moleculetype ]\n  SOL   2", RESTRAINT, NULL, "topol.top:108: ", "-r FILE"},
    {"topol.top", "1.00800   0.410", "0.00000   0.410", NULL, "topol.top:112: ", "mass of atom 2"},
    {"topol.top", "  ETH  125\n  SOL  1500", "  SOL  1500\n  ETH  125", NULL,
     "conf.gro:3: ", "order of [ molecules ]"},
    /* the configuration */
    {"conf.gro", " 5625", " 5624", NULL, "conf.gro:", "box"},
    {"conf.gro", " 5625", " 5626", NULL, "conf.gro:5628:1: ", "residue number"},
    {"conf.gro", " 5625", " lots", NULL, "conf.gro:2", "number of atoms"},
    {"conf.gro", "1.625", "1.nan", NULL, "conf.gro:3:24: ", "finite"},
    {"conf.gro", "0.1144", "   inf", NULL, "conf.gro:3:58: ", "finite"},
    {"conf.gro", "1.902", "     ", NULL, "conf.gro:3:21: ", "decimal points"},
    {"conf.gro", "1ETH      C", "XETH      C", NULL, "conf.gro:3:1: ", "residue number"},
    {"conf.gro", "3.81597   3.81597   3.81597", "3.81597   3.81597   1.70000", NULL,
     "conf.gro:5628: ", "twice the cut-off"},
    {"conf.gro", "3.81597   3.81597   3.81597", "3.8 3.8 3.8 0 0 1.2 0 1.2 1.2", NULL,
     "conf.gro:5628: ", "triclinic"},
    {"conf.gro", "3.81597   3.81597   3.81597", "3.81597", NULL, "conf.gro:5628: ", "box"},
    {"conf.gro", "3.81597   3.81597   3.81597", "0 0 0", NULL, "conf.gro:5628: ", "periodic"},
    /* the run parameters */
    MDP("tcoupl = no", "rf.mdp:17:1: ", "given twice"),
    {"rf.mdp", "pcoupl        = no", "pcoupl = Parrinello-Rahman", NULL,
     "rf.mdp:13:", "constant volume"},
    MDP("constraint-algorithm = SHAKE", "rf.mdp:17:", "LINCS"),
    MDP("pbc = no", "rf.mdp:17:", "pbc = xyz"),
    MDP("free-energy = yes", "rf.mdp:17:", "free-energy"),
    MDP("lincs-order = four", "rf.mdp:17:", "four"),
    MDP("lincs-order = 0", "rf.mdp:17:", "lincs-order"),
    MDP("comm-mode", "rf.mdp:17:", "comm-mode"),
    {"rf.mdp", "= md", "= sd", NULL, "rf.mdp:2:", "use integrator = md"},
    {"rf.mdp", "Reaction-Field", "PME", NULL, "rf.mdp:6:", "Reaction-Field"},
    {"rf.mdp", "0.002", "0", NULL, "rf.mdp:3:", "time step"},
    {"rf.mdp", "0.002", "nan", NULL, "rf.mdp:3:", "dt"},
    {"rf.mdp", "5000", "-2", NULL, "rf.mdp:4:", "nsteps"},
    {"rf.mdp", "= 20", "= 0", NULL, "rf.mdp:5:", "pair list"},
    {"rf.mdp", "rvdw          = 0.9", "rvdw = 1.0", NULL, "rf.mdp:10:", "one cut-off"},
    {"rf.mdp", "h-bonds", "h-angles", NULL, "rf.mdp:11:", "h-bonds or all-bonds"},
    {"rf.mdp", "tcoupl        = no",
     "tcoupl = v-rescale\ntc-grps = System\ntau-t = 0.1 0.1\nref-t = 300", NULL,
     "rf.mdp:14:", "tau-t"},
    {"rf.mdp", "tcoupl        = no",
     "tcoupl = v-rescale\ntc-grps = Proteins\ntau-t = 0.1\nref-t = 300", NULL,
     "rf.mdp:13:", "Proteins"},
    {"rf.mdp", "tcoupl        = no", "tcoupl = v-rescale", NULL, "rf.mdp:12:", "tc-grps = System"},
    {"rf.mdp", "tcoupl        = no", "tcoupl = nose-hoover", NULL, "rf.mdp:12:", "v-rescale"},
    {"rf.mdp", "tcoupl        = no", "tcoupl = v-rescale\ntc-grps = SOL\ntau-t = 0.1\nref-t = 300",
     NULL, "rf.mdp: ", "must cover all atoms"},
    {"rf.mdp", "= none", "= linear\ncomm-grps = ETH Lipid", NULL, "rf.mdp:15:", "Lipid"},
    MDP("compressed-x-grps = Lipid", "rf.mdp", "Lipid"),
    MDP("verlet-buffer-tolerance = -1\nrlist = 0.8", "rf.mdp:18:", "smaller than the cut-off"),
    /* options and files */
    {NULL, NULL, NULL, "-c conf.gro -p topol.top -f no.mdp -o out", "no.mdp: ", "cannot be read"},
    {NULL, NULL, NULL, "-c conf.gro -p topol.top -f . -o out", ".: ", "folder"},
    {NULL, NULL, NULL, "-c conf.gro -p no.top -f rf.mdp -o out", "no.top: ", "cannot be read"},
    {NULL, NULL, NULL, "-c no.gro -p topol.top -f rf.mdp -o out", "no.gro: ", "cannot be read"},
    {NULL, NULL, NULL, "-c topol.top -p topol.top -f rf.mdp -o out", "topol.top: ", ".gro"},
    {NULL, NULL, NULL, "-n no.ndx", "no.ndx: ", "cannot be read"},
    {NULL, NULL, NULL, "-c conf.gro -p topol.top -f rf.mdp -o conf.gro/out",
     "conf.gro: ", "is a file where a folder is needed"},
    {NULL, NULL, NULL, "--pe 2x2", "--pe 2x2: ", "three numbers"},
    {NULL, NULL, NULL, "--pe 0", "--pe 0: ", "at least 1"},
    {NULL, NULL, NULL, "--pe 2x", "--pe 2x: ", "three numbers"},
    {NULL, NULL, NULL, "--pe 1x1x2x", "--pe 1x1x2x: ", "three numbers"},
    {NULL, NULL, NULL, "--pe 9x9x9", "", "at most 256"},
    {"rf.mdp", "", "verlet-buffer-tolerance = -1\nrlist = 1.9\n", "--pe 2x2x2", "",
     "2 domains along x"},
    {"rf.mdp", "", "verlet-buffer-tolerance = -1\nrlist = 1.9\n", "--pe 2", "",
     "fewer processing elements"},
    {NULL, NULL, NULL, "--pe 97", "97 domains along x ", "fewer processing elements"},
    {NULL, NULL, NULL, "-r no.gro", "no.gro: ", "cannot be read"},
    {NULL, NULL, NULL, "--backend fast", "", "fast"},
    {NULL, NULL, NULL, "--backend cuda --gpus 0", "--gpus 0: ", "at least 1"},
    {NULL, NULL, NULL, "--backend cuda --gpus 9", "9 GPUs: ", "at most 8"},
    {NULL, NULL, NULL, "--gpus 2", "2 GPUs: ", "the backend omp uses none"},
    {NULL, NULL, NULL, "--backend cuda --gpus 2 --pe 3", "3 domains on 2 GPUs: ", "multiple of 2"},
    {NULL, NULL, NULL, "--backend cuda --gpus 2 --pe 1x1x3", "3 domains on 2 GPUs: ", "4 say"},
    {NULL, NULL, NULL, "--backend cuda --pe 3x3x3", "27 domains: ", "at most 16"},
    {NULL, NULL, NULL, "--backend cuda --transport mpi", "transport \"mpi\": ", "nvshmem"},
    {NULL, NULL, NULL, "--halo stream", "halo \"stream\": ", "host, pulse, fused or direct"},
    {NULL, NULL, NULL, "--transport nvshmem", "transport \"nvshmem\": ", "the backend cuda"},
    {NULL, NULL, NULL, "--backend cuda --precision double", "precision \"double\": ", "omp"},
    {NULL, NULL, NULL, "--backend cuda --trace t.json", "--trace: ", "omp"},
    {"rf.mdp", "integrator    = md", "integrator = steep", "--backend cuda --pe 2",
     "integrator = steep on 2 domains: ", "one GPU minimises"},
    {NULL, NULL, NULL, "--balance", "--balance: ", "the backend cuda"},
    {NULL, NULL, NULL, "--backend cuda --balance", "--balance: ", "--gpus"},
    {NULL, NULL, NULL, "--backend cuda --gpus 2 --balance --reproducible", "--balance ",
     "one of them"},
    {NULL, NULL, NULL, "--tune", "--tune: ", "the backend cuda"},
    {NULL, NULL, NULL, "--backend cuda --tune --reproducible", "--tune ", "one of them"},
    {NULL, NULL, NULL, "--backend cuda --tune --lists 20/4", "--tune ", "--lists"},
    {NULL, NULL, NULL, "--lists 20/20", "--lists 20/20: ", "such as 80/6"},
    {NULL, NULL, NULL, "--lists 20/", "--lists 20/: ", "such as 80/6"},
    {NULL, NULL, NULL, "--lists 0", "--lists 0: ", "such as 80/6"},
    {NULL, NULL, NULL, "--lists 300/8", "", "search more often"},
    {NULL, NULL, NULL, "--checkpoint 0", "--checkpoint 0: ", "more than 0"},
    {NULL, NULL, NULL, "-c conf.gro -p topol.top -f rf.mdp -o out --threads -3",
     "--threads -3: ", "at least 1"},
    {NULL, NULL, NULL, "-c conf.gro -p topol.top -f rf.mdp -o out --threads 0",
     "--threads 0: ", "at least 1"},
    {NULL, NULL, NULL, "--force --continue", "", "one of them"},
    {NULL, NULL, NULL, "--plot energy.pdf", "", ".svg or .png"},
    {NULL, NULL, NULL, "--plot nowhere/energy.svg", "nowhere/energy.svg: ", "does not exist"},
    {NULL, NULL, NULL, "--continue", "out/state.cpt: ", "without --continue"},
};

static int failures; /* of one test: all are shown before it fails */

static void check_refusal(const char* what, const char* command, const char* place,
                          const char* words) {
  static char out[1 << 14], err[1 << 14];
  int code = shell(command, out, err, sizeof out);
  char start[256];
  snprintf(start, sizeof start, "throng: %s", place);
  const char* message = err; /* warnings and a note on the seed may come first */
  while ((strncmp(message, "throng: warning", 15) == 0 ||
          strncmp(message, "throng: ld-seed", 15) == 0) &&
         strchr(message, '\n'))
    message = strchr(message, '\n') + 1;
  if (code != 2 || strncmp(message, start, strlen(start)) != 0 || !strstr(message, words) ||
      out[0] != '\0') {
    print_error("%s: wanted exit code 2, '%s' and '%s'; got %d, stdout '%s', stderr '%s'\n", what,
                place, words, code, out, err);
    failures++;
  }
}

static void bad_input_is_refused_and_nothing_is_written(void** state) {
  (void)state;
  failures = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const bad_case* c = &cases[i];
    pristine();
    if (c->file) edit(c->file, c->find, c->replacement);
    char command[1024], what[256], out[16];
    bool whole = c->options && c->options[1] == 'c'; /* stands for the usual options too */
    snprintf(command, sizeof command, "'%s' md run %s %s", TG_PROGRAM,
             whole ? "" : "-c conf.gro -p topol.top -f rf.mdp -o out --threads 1",
             c->options ? c->options : "");
    snprintf(what, sizeof what, "case %zu (%s, %.100s)", i, c->file ? c->file : "options",
             c->file ? c->replacement : c->options);
    check_refusal(what, command, c->place, c->words);
    if (access("out", F_OK) == 0) {
      print_error("%s: an output folder was made\n", what);
      failures++;
      assert_int_equal(shell("rm -rf out", out, out, sizeof out), 0);
    }
  }
  assert_int_equal(failures, 0);
}

/* A rod of atoms bound head to tail is one constraint group: longer than a domain is thick. */
static void constraint_groups_too_large_are_refused(void** state) {
  (void)state;
  enum { BEADS = 30 };
  FILE* top = fopen("rod.top", "w");
  FILE* gro = fopen("rod.gro", "w");
  assert_true(top && gro);
  fputs("[ defaults ]\n1 2\n[ atomtypes ]\nB 12 0 A 0.2 0.1\n[ moleculetype ]\nROD 3\n[ atoms ]\n",
        top);
  fprintf(gro, "a rod\n%d\n", BEADS);
  for (int i = 1; i <= BEADS; i++) {
    fprintf(top, "%d B 1 ROD B%d %d 0 12\n", i, i, i);
    fprintf(gro, "%5d%-5s%5s%5d%8.3f%8.3f%8.3f\n", 1, "ROD", "B", i, 0.1 * i, 2.0, 2.0);
  }
  fputs("[ constraints ]\n", top);
  for (int i = 1; i < BEADS; i++) fprintf(top, "%d %d 1 0.1\n", i, i + 1);
  fputs("[ system ]\nrod\n[ molecules ]\nROD 1\n", top);
  fputs("4 4 4\n", gro);
  fclose(top);
  fclose(gro);
  pristine();
  char command[512];
  snprintf(command, sizeof command,
           "'%s' md run -c rod.gro -p rod.top -f rf.mdp -o out --pe 4x1x1 --threads 1", TG_PROGRAM);
  failures = 0;
  check_refusal("rod", command, "", "constraint");
  assert_int_equal(failures, 0);
  assert_int_not_equal(access("out", F_OK), 0);
}

static const char fingerprint[] =
    "(cd out && ls -l --time-style=full-iso . && cksum *) 2>/dev/null";

/* What lies in an earlier run's folder stays as it is, to the byte and to the time. */
static void an_earlier_run_stays_untouched(void** state) {
  (void)state;
  static char before[1 << 14], after[1 << 14], err[1 << 14];
  static const struct {
    const char* prepare; /* a shell command */
    const char* options;
    const char* place;
    const char* words;
  } refused[] = {
      {":", "", "out/traj.xtc: ", "--continue"},
      {"sed -i 's/^nsteps.*/nsteps = 4/' rf.mdp", "--continue", "", "raise nsteps"},
      {"sed -i 's/0.002/0.001/' rf.mdp", "--continue", "out/state.cpt: ", "parameters"},
      {"sed -i 's/  1  5  1$/  1  5  1  0.16 200000/' topol.top", "--continue",
       "out/state.cpt: ", "topology"},
      {"sed -i 's/^nsteps/integrator = steep\\nnsteps/;/= md$/d' rf.mdp", "--continue", "",
       "minimisation"},
      {"sed -i 's/= md$/= oops/' rf.mdp", "--force", "rf.mdp:2:", "oops"},
      {"truncate -s 5000 out/state.cpt", "--continue", "out/state.cpt: ", "cut"},
      {"cp conf.gro out/state.cpt", "--continue", "out/state.cpt: ", "checkpoint"},
      {": >out/state.cpt", "--continue", "out/state.cpt: ", ""},
      {"cp good.cpt out/state.cpt; truncate -s 10 out/energies.xvg", "--continue",
       "out/energies.xvg: ", "10 bytes"},
      {"rm out/energies.xvg", "--continue", "out/energies.xvg: ", ""},
  };
  failures = 0;
  pristine();
  char command[1024];
  snprintf(command, sizeof command,
           "sed -i 's/^nsteps.*/nsteps = 20/' rf.mdp && '%s' md run -c conf.gro -p topol.top -f "
           "rf.mdp -o out --threads 1 && cp out/state.cpt good.cpt",
           TG_PROGRAM);
  assert_int_equal(shell(command, before, err, sizeof before), 0);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    pristine();
    assert_int_equal(shell(refused[i].prepare, before, err, sizeof before), 0);
    assert_int_equal(shell(fingerprint, before, err, sizeof before), 0);
    snprintf(command, sizeof command,
             "'%s' md run -c conf.gro -p topol.top -f rf.mdp -o out --threads 1 %s", TG_PROGRAM,
             refused[i].options);
    check_refusal(refused[i].prepare, command, refused[i].place, refused[i].words);
    assert_int_equal(shell(fingerprint, after, err, sizeof after), 0);
    assert_true(strlen(before) > 200);
    if (strcmp(before, after) != 0) {
      print_error("%s: the folder was '%s', then '%s'\n", refused[i].prepare, before, after);
      failures++;
    }
  }
  assert_int_equal(failures, 0);
}

/* Neither with --force, which would rename the files that another run is writing, nor with
 * --continue, which would cut them. */
static void a_folder_has_one_writer(void** state) {
  (void)state;
  static char before[1 << 14], after[1 << 14], err[1 << 14];
  static const char* const options[] = {"", "--force", "--continue"};
  char command[1024];
  failures = 0;
  pristine();
  snprintf(command, sizeof command,
           "rm -rf out; sed -i 's/^nsteps.*/nsteps = 20/' rf.mdp && '%s' md run -c conf.gro -p "
           "topol.top -f rf.mdp -o out --threads 1 && sed -i 's/^nsteps.*/nsteps = 40/' rf.mdp",
           TG_PROGRAM);
  assert_int_equal(shell(command, before, err, sizeof before), 0);
  assert_int_equal(shell(fingerprint, before, err, sizeof before), 0);
  int lock;
  assert_int_equal(tg_folder_lock("out", &lock), TG_OK);
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    snprintf(command, sizeof command,
             "'%s' md run -c conf.gro -p topol.top -f rf.mdp -o out --threads 1 %s", TG_PROGRAM,
             options[i]);
    check_refusal(options[i], command, "out: ", "another run is writing into this folder");
    assert_int_equal(shell(fingerprint, after, err, sizeof after), 0);
    assert_string_equal(before, after);
  }
  close(lock);
  assert_int_equal(shell(command, after, err, sizeof after), 0); /* --continue, the last */
  assert_int_equal(failures, 0);
}

/* As on a full disk; the signal that comes with it does not kill. */
static void a_file_too_large_is_no_crash(void** state) {
  (void)state;
  static char out[1 << 14], err[1 << 14];
  char command[1024];
  pristine();
  snprintf(command, sizeof command,
           "sed -i 's/^nsteps.*/nsteps = 400/;s/^nstxout-comp.*/nstxout-compressed = 1/' rf.mdp && "
           "ulimit -f 600 && '%s' md run -c conf.gro -p topol.top -f rf.mdp -o full --threads 1",
           TG_PROGRAM);
  const int code = shell(command, out, err, sizeof out);
  if (code != 3 || !strstr(err, "full/traj.xtc")) fail_msg("%d: %s", code, err);
}

/* Files that are open take what is written wherever they are: the run looks for their names. */
static void a_folder_that_is_gone_is_told_at_once(void** state) {
  (void)state;
  static char out[1 << 14], err[1 << 14];
  char command[2048], run[512];
  pristine();
  snprintf(run, sizeof run, "'%s' md run -c conf.gro -p topol.top -f rf.mdp -o gone --threads 1",
           TG_PROGRAM);
  snprintf(command, sizeof command,
           "sed -i 's/^nsteps.*/nsteps = 20/;s/^nstenergy.*/nstenergy = 10/' rf.mdp && %s && "
           "cksum <gone/state.cpt >before && size=$(wc -c <gone/energies.jsonl) && "
           "sed -i 's/^nsteps.*/nsteps = 2000/' rf.mdp || exit 1; %s --continue & "
           "while kill -0 $! && [ $(wc -c <gone/energies.jsonl) -le $size ]; do sleep 0.05; done; "
           "mv gone moved; wait $!; code=$?; cksum <moved/state.cpt | cmp - before && exit $code",
           run, run);
  const int code = shell(command, out, err, sizeof out);
  if (code != 3 || !strstr(err, "gone/energies.xvg: this file of the run is gone"))
    fail_msg("%d: %s", code, err);
  assert_false(tg_path_exists("gone"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_input_is_refused_and_nothing_is_written),
      cmocka_unit_test(constraint_groups_too_large_are_refused),
      cmocka_unit_test(an_earlier_run_stays_untouched),
      cmocka_unit_test(a_folder_has_one_writer),
      cmocka_unit_test(a_file_too_large_is_no_crash),
      cmocka_unit_test(a_folder_that_is_gone_is_told_at_once),
  };
  return cmocka_run_group_tests_name("bad input", tests, set_up, tear_down);
}
