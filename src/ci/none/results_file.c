/* SPDX-License-Identifier: Apache-2.0 */
/* Answers where throng was built without HDF5. */
#include "ci/results_file.h"

static tg_status without(void) {
  return tg_fail(TG_ERR_MACHINE,
                 "this throng was built without HDF5, which files of wave functions and densities "
                 "need; ./dev build installs libhdf5-dev and builds again (cmake alone: install it "
                 "first)");
}

const char* tg_ci_results_library(void) { return NULL; }

tg_status tg_ci_results_create(const char* path, const char* format, int version,
                               tg_ci_results** out) {
  (void)path, (void)format, (void)version;
  *out = NULL;
  return without();
}
tg_status tg_ci_results_open(const char* path, const char* format, int most_version,
                             tg_ci_results** out) {
  (void)path, (void)format, (void)most_version;
  *out = NULL;
  return without();
}

/* There is no file to call these with. */
tg_status tg_ci_results_put(tg_ci_results* file, const char* name, const tg_ci_array* array) {
  (void)file, (void)name, (void)array;
  return without();
}
tg_status tg_ci_results_set_text(tg_ci_results* file, const char* object, const char* name,
                                 const char* value) {
  (void)file, (void)object, (void)name, (void)value;
  return without();
}
tg_status tg_ci_results_set_int(tg_ci_results* file, const char* object, const char* name,
                                int64_t value) {
  (void)file, (void)object, (void)name, (void)value;
  return without();
}
tg_status tg_ci_results_set_double(tg_ci_results* file, const char* object, const char* name,
                                   double value) {
  (void)file, (void)object, (void)name, (void)value;
  return without();
}
tg_status tg_ci_results_commit(tg_ci_results** file) {
  (void)file;
  return without();
}
void tg_ci_results_close(tg_ci_results** file) { (void)file; }
const char* tg_ci_results_path(const tg_ci_results* file) {
  (void)file;
  return "";
}
int tg_ci_results_version(const tg_ci_results* file) {
  (void)file;
  return 0;
}
bool tg_ci_results_has(tg_ci_results* file, const char* name) {
  (void)file, (void)name;
  return false;
}
tg_status tg_ci_results_look(tg_ci_results* file, const char* name, tg_ci_array* out) {
  (void)file, (void)name, (void)out;
  return without();
}
tg_status tg_ci_results_get(tg_ci_results* file, const char* name, const tg_ci_array* like,
                            void* data) {
  (void)file, (void)name, (void)like, (void)data;
  return without();
}
tg_status tg_ci_results_get_text(tg_ci_results* file, const char* object, const char* name,
                                 char* out, size_t size) {
  (void)file, (void)object, (void)name, (void)out, (void)size;
  return without();
}
tg_status tg_ci_results_get_int(tg_ci_results* file, const char* object, const char* name,
                                int64_t* out) {
  (void)file, (void)object, (void)name, (void)out;
  return without();
}
tg_status tg_ci_results_get_double(tg_ci_results* file, const char* object, const char* name,
                                   double* out) {
  (void)file, (void)object, (void)name, (void)out;
  return without();
}
