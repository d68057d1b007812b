/* SPDX-License-Identifier: Apache-2.0 */
#include "md/output.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

enum { PATH_SIZE = 4096 };

struct tg_output {
  const tg_md_system* system;
  char folder[PATH_SIZE];
  FILE* files[TG_OUTPUT_COUNT];
  char paths[TG_OUTPUT_COUNT][PATH_SIZE];
  tg_output_marks sums;
  int lock; /* of the folder */
};

const char* tg_output_name(int file) {
  static const char* const names[TG_OUTPUT_COUNT] = {"traj.trr", "traj.xtc", "energies.xvg",
                                                     "energies.jsonl", "md.log"};
  return names[file];
}

int tg_output_has_term(const tg_md_system* system, tg_energy_term term) {
  static const struct {
    tg_energy_term term;
    tg_interaction_kind kind;
  } needs[] = {
      {TG_E_BOND, TG_BOND},
      {TG_E_ANGLE, TG_ANGLE},
      {TG_E_PROPER, TG_DIHEDRAL_PROPER},
      {TG_E_RYCKAERT, TG_DIHEDRAL_RYCKAERT},
      {TG_E_IMPROPER, TG_DIHEDRAL_IMPROPER},
      {TG_E_IMPROPER_PERIODIC, TG_DIHEDRAL_IMPROPER_PERIODIC},
      {TG_E_LJ_14, TG_PAIR_14},
      {TG_E_COULOMB_14, TG_PAIR_14},
      {TG_E_RESTRAINT, TG_POSITION_RESTRAINT},
  };
  if (term == TG_E_CONSTRAINT_RMSD) return system->constraint_count > 0;
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
    if (needs[i].term != term) continue;
    for (size_t m = 0; m < system->topology.molecule_type_count; m++)
      if (system->topology.molecule_types[m].interactions[needs[i].kind].count) return 1;
    return 0;
  }
  return 1;
}

static int wanted(const tg_md_system* system, int file) {
  const tg_parameters* p = &system->parameters;
  if (file == TG_OUTPUT_XTC) return p->nstxout_compressed > 0;
  if (file == TG_OUTPUT_TRR) return p->nstxout > 0 || p->nstvout > 0 || p->nstfout > 0;
  return 1;
}

static void write_xvg_header(FILE* stream, const tg_md_system* system) {
  fprintf(stream, "# energies of a throng run\n@    title \"Energies\"\n");
  fprintf(stream, "@    xaxis  label \"Time (ps)\"\n@    yaxis  label \"(kJ/mol), (K), (bar)\"\n");
  fprintf(stream, "@TYPE xy\n");
  int column = 0;
  for (int term = 0; term < TG_E_COUNT; term++)
    if (tg_output_has_term(system, (tg_energy_term)term))
      fprintf(stream, "@ s%d legend \"%s\"\n", column++, tg_energy_label((tg_energy_term)term));
}

/* Going on is offered only where there is a checkpoint. */
static tg_status refuse_folder(const tg_output* output, const char* path) {
  char checkpoint[PATH_SIZE];
  TG_TRY(tg_path_join(output->folder, "state.cpt", checkpoint, sizeof checkpoint));
  return tg_fail(TG_ERR_INPUT,
                 "%s: is there from an earlier run; %skeep it as a numbered copy (--force), or "
                 "choose another folder (-o)",
                 path, tg_path_exists(checkpoint) ? "go on with it (--continue), " : "");
}

static const char* const others[] = {"confout.gro", "state.cpt", "state_prev.cpt", "last_good.gro",
                                     TG_OUTPUT_TUNING};
enum { OTHERS = sizeof others / sizeof *others };

static const char* name_of(int i) {
  return i < TG_OUTPUT_COUNT ? tg_output_name(i) : others[i - TG_OUTPUT_COUNT];
}

bool tg_output_is_own(const char* folder, const char* path) {
  for (int i = 0; i < TG_OUTPUT_COUNT + OTHERS; i++) {
    char own[PATH_SIZE];
    if (tg_path_join(folder, name_of(i), own, sizeof own) == TG_OK && tg_path_same(own, path))
      return true;
  }
  return false;
}

/* An earlier run's files: refused, or kept under numbered names. */
static tg_status make_room(tg_output* output, int force) {
  for (int i = 0; i < TG_OUTPUT_COUNT + OTHERS; i++) {
    char path[PATH_SIZE];
    TG_TRY(tg_path_join(output->folder, name_of(i), path, sizeof path));
    if (!tg_path_exists(path)) continue;
    if (!force) return refuse_folder(output, path);
    TG_TRY(tg_file_keep_copy(path));
  }
  return TG_OK;
}

static tg_status cut_back(const char* path, long long size) {
  if (truncate(path, (off_t)size) == 0) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "%s: cannot be cut back to the checkpoint's length of %lld bytes: %s", path, size,
                 strerror(errno));
}

static tg_status check_length(const char* path, long long size) {
  FILE* stream = NULL;
  TG_TRY(tg_file_open(path, "rb", &stream));
  int failed = fseeko(stream, 0, SEEK_END) != 0;
  long long length = failed ? -1 : (long long)ftello(stream);
  fclose(stream);
  if (length >= size) return TG_OK;
  return tg_fail(
      TG_ERR_INPUT,
      "%s: has %lld bytes where the checkpoint expects %lld or more; restore the file, or start a "
      "new run in another folder from confout.gro",
      path, length, size);
}

static tg_status open_files(tg_output* output, int force, const tg_output_marks* marks) {
  TG_TRY(tg_folder_make(output->folder));
  TG_TRY(tg_folder_lock(output->folder, &output->lock));
  if (!marks) TG_TRY(make_room(output, force));
  for (int i = 0; i < TG_OUTPUT_COUNT; i++)
    TG_TRY(tg_path_join(output->folder, tg_output_name(i), output->paths[i], PATH_SIZE));
  for (int i = 0; i < TG_OUTPUT_COUNT && marks; i++) /* all are looked at before one is changed */
    if (marks->size[i] >= 0) TG_TRY(check_length(output->paths[i], marks->size[i]));
  for (int i = 0; i < TG_OUTPUT_COUNT; i++) {
    int extend = marks && marks->size[i] >= 0;
    if (!extend && !wanted(output->system, i)) continue;
    if (extend) TG_TRY(cut_back(output->paths[i], marks->size[i]));
    TG_TRY(tg_file_open(output->paths[i], extend ? "ab" : "wb", &output->files[i]));
    if (!extend && i == TG_OUTPUT_XVG) write_xvg_header(output->files[i], output->system);
  }
  if (marks) output->sums = *marks;
  return TG_OK;
}

tg_status tg_output_open(const char* folder, const tg_md_system* system, int force,
                         const tg_output_marks* continue_marks, tg_output** out) {
  *out = NULL;
  tg_output* output = NULL;
  TG_TRY(TG_ALLOCATE(1, "output", &output));
  output->system = system;
  output->lock = -1;
  tg_status status = tg_path_join("", folder, output->folder, sizeof output->folder);
  if (status == TG_OK) status = open_files(output, force, continue_marks);
  if (status != TG_OK) {
    char message[2048];
    snprintf(message, sizeof message, "%s", tg_last_error());
    tg_output_close(&output);
    return tg_fail(status, "%s", message);
  }
  *out = output;
  return TG_OK;
}

tg_status tg_output_close(tg_output** pointer) {
  tg_output* output = *pointer;
  if (!output) return TG_OK;
  tg_status first = TG_OK;
  for (int i = 0; i < TG_OUTPUT_COUNT; i++) {
    if (!output->files[i]) continue;
    tg_status status = tg_file_close(&output->files[i], output->paths[i]);
    if (first == TG_OK) first = status;
  }
  if (output->lock >= 0) close(output->lock);
  tg_free(output);
  *pointer = NULL;
  return first;
}

/* A file that was moved or removed takes what is written into it, and nobody will find that. */
static tg_status check_place(const tg_output* output, int file) {
  struct stat written, named;
  const char* path = output->paths[file];
  if (fstat(fileno(output->files[file]), &written) != 0 || stat(path, &named) != 0)
    return tg_fail(TG_ERR_MACHINE,
                   "%s: this file of the run is gone (%s): nothing more is written; put the folder "
                   "back and go on from its checkpoint (--continue), or choose another folder (-o)",
                   path, strerror(errno));
  if (written.st_dev == named.st_dev && written.st_ino == named.st_ino) return TG_OK;
  return tg_fail(TG_ERR_MACHINE,
                 "%s: another file stands where this run has written: nothing more is written; put "
                 "the run's folder back and go on from its checkpoint (--continue), or choose "
                 "another folder (-o)",
                 path);
}

tg_status tg_output_frame_trr(tg_output* output, const tg_frame* frame) {
  TG_TRY(check_place(output, TG_OUTPUT_TRR));
  return tg_trr_write(output->files[TG_OUTPUT_TRR], frame, 0);
}

tg_status tg_output_frame_xtc(tg_output* output, const tg_frame* frame) {
  TG_TRY(check_place(output, TG_OUTPUT_XTC));
  return tg_xtc_write(output->files[TG_OUTPUT_XTC], frame,
                      output->system->parameters.compressed_precision);
}

void tg_output_count(tg_output* output, double time, const tg_energies* energies) {
  tg_output_marks* sums = &output->sums;
  sums->samples++;
  for (int term = 0; term < TG_E_COUNT; term++) {
    sums->sum[term] += energies->term[term];
    sums->sum_squares[term] += energies->term[term] * energies->term[term];
  }
  double e = energies->term[TG_E_CONSERVED];
  double add[5] = {1, time, time * time, e, time * e};
  for (int i = 0; i < 5; i++) sums->drift_sums[i] += add[i];
}

const tg_output_marks* tg_output_sums(const tg_output* output) { return &output->sums; }

double tg_output_drift(const tg_output* output) {
  const double* s = output->sums.drift_sums;
  double determinant = s[0] * s[2] - s[1] * s[1];
  return s[0] < 2 || determinant <= 0 ? 0 : (s[0] * s[4] - s[1] * s[3]) / determinant;
}

tg_status tg_output_energies(tg_output* output, long long step, double time,
                             const tg_energies* energies, const double pressure[3][3]) {
  FILE* xvg = output->files[TG_OUTPUT_XVG];
  TG_TRY(check_place(output, TG_OUTPUT_XVG));
  fprintf(xvg, "%.6f", time);
  tg_json json = tg_json_on(output->files[TG_OUTPUT_JSONL], false);
  tg_json_open_object(&json, NULL);
  tg_json_int(&json, "step", step);
  tg_json_double(&json, "time_ps", time);
  for (int term = 0; term < TG_E_COUNT; term++) {
    if (!tg_output_has_term(output->system, (tg_energy_term)term)) continue;
    fprintf(xvg, " %.10g", energies->term[term]);
    tg_json_double(&json, tg_energy_label((tg_energy_term)term), energies->term[term]);
  }
  tg_json_doubles(&json, "virial_kJ_per_mol", &energies->virial[0][0], 9);
  tg_json_doubles(&json, "pressure_bar", &pressure[0][0], 9);
  tg_json_close_object(&json);
  fputc('\n', xvg);
  if (ferror(xvg) || ferror(output->files[TG_OUTPUT_JSONL]))
    return tg_fail(TG_ERR_MACHINE, "%s: writing energies failed: %s", output->folder,
                   strerror(errno));
  return TG_OK;
}

void tg_output_log(tg_output* output, const char* format, ...) {
  if (!output) return;
  va_list args;
  va_start(args, format);
  vfprintf(output->files[TG_OUTPUT_LOG], format, args);
  va_end(args);
  fputc('\n', output->files[TG_OUTPUT_LOG]);
}

void tg_output_log_energies(tg_output* output, long long step, double time,
                            const tg_energies* energies) {
  FILE* log = output->files[TG_OUTPUT_LOG];
  fprintf(log, "\n   step %lld   time %.5f ps\n", step, time);
  int column = 0;
  for (int term = 0; term < TG_E_COUNT; term++) {
    if (!tg_output_has_term(output->system, (tg_energy_term)term)) continue;
    fprintf(log, "%16s %14.6g%s", tg_energy_label((tg_energy_term)term), energies->term[term],
            ++column % 3 ? "" : "\n");
  }
  if (column % 3) fputc('\n', log);
}

FILE* tg_output_log_stream(tg_output* output) { return output->files[TG_OUTPUT_LOG]; }
const char* tg_output_folder(const tg_output* output) { return output->folder; }

tg_status tg_output_mark(tg_output* output, tg_output_marks* marks) {
  *marks = output->sums;
  for (int i = 0; i < TG_OUTPUT_COUNT; i++) {
    marks->size[i] = -1;
    if (!output->files[i]) continue;
    if (fflush(output->files[i]) != 0 || (marks->size[i] = ftello(output->files[i])) < 0)
      return tg_fail(TG_ERR_MACHINE, "%s: writing failed: %s", output->paths[i], strerror(errno));
  }
  return TG_OK;
}
