#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the commands that README.md, docs/how-to/ and the examples of `throng VERB --help` show, in a
# scratch folder that looks like the top folder of the source; runs are cut to 20 steps there.
# Usage: check-commands.sh BUILD_FOLDER
set -eu
. tools/common.sh

top=$PWD
build=$(cd "$1" && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/throng-commands-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
export PATH="$build:$PATH"
if [ "$(id -u)" -eq 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
export OMPI_MCA_rmaps_base_oversubscribe=1

mpi=
if command -v mpirun >/dev/null 2>&1 && ! throng info | grep -q '^MPI  *no'; then mpi=yes; fi

# the eigen-solver needs LAPACK, which a build may lack
lapack=yes
case $(throng ci solve -i ckpot --neutrons 1 --states 1 2>&1) in *'without LAPACK'*) lapack= ;; esac

# and files of wave functions HDF5
hdf5=yes
case $(throng ci solve -i ckpot --neutrons 1 --states 1 --wave "$scratch/try.h5" 2>&1) in
  *'without HDF5'*) hdf5= ;;
esac

# what asks for a GPU has to say so where there is none
cuda=
if throng info | grep -q '^ *cuda  *yes'; then cuda=yes; fi
acc=
if throng info | grep -q '^ *acc  *yes'; then acc=yes; fi

lay_out() { # NAME: a fresh folder for one document, and into it
  mkdir -p "$scratch/$1/build"
  cd "$scratch/$1"
  ln -s "$build" build/cpu
  cp -R "$top/examples" "$top/tools" .
  for parameters in examples/*/*.mdp; do
    sed 's/^nsteps .*/nsteps = 20/' "$parameters" >cut.mdp
    mv cut.mdp "$parameters"
  done
}

# A document's code blocks of one language, in their order.
blocks() { # LANGUAGE FILE
  awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } $0 == "```" { on = 0 } on' "$2"
}

# Commands a line each (a backslash joins lines), as people would paste them, less those that are not
# tried here: ./dev has its own test, a benchmark takes its time, and where there is a GPU there may not be
# as many as a command asks for.
run_commands() { # FILE
  sed -e ':join' -e '/\\$/ { N; s/\\\n *//; b join' -e '}' "$1" | while IFS= read -r command; do
    case $command in
      '' | '#'* | ./dev* | *'bench md-cpu' | *'bench md' | *'bench md --'* | *'bench ci' | *'bench ci -'* | *'bench motif -o'*) continue ;;
      *'--wave'* | *'ci transitions'*) [ "$lapack$hdf5" = yesyes ] || { echo "  skipped: $command" && continue; } ;;
      mpirun*'ci solve'*) [ "$lapack$mpi" = yesyes ] || { echo "  skipped: $command" && continue; } ;;
      *'ci solve'*) [ -n "$lapack" ] || { echo "  skipped: $command" && continue; } ;;
      mpirun*) [ -n "$mpi" ] || { echo "  skipped: $command" && continue; } ;;
    esac
    wanted=0
    case $command in
      *'--backend cuda'*)
        [ -z "$cuda" ] || { echo "  skipped: $command" && continue; }
        wanted=3
        ;;
      *'--backend acc'*) [ -n "$acc" ] || wanted=3 ;;
    esac
    ran=0
    sh -e -c "$command" </dev/null >output 2>&1 || ran=$?
    [ "$ran" -eq $wanted ] || {
      cat output
      die 1 "exit status $ran: $command"
    }
    case $command in # `wait` forgets how processes in the background ended
      *'-o build/sockets '*) [ -s build/sockets/confout.gro ] || die 1 "no result: $command" ;;
    esac
    echo "  $command"
  done
}

run_python() { # FILE
  [ -s "$1" ] || return 0
  python=${TG_PYTHON:-python3}
  modules=$(sed -n 's/^import \([A-Za-z]*\).*/\1/p' "$1")
  for module in $modules; do
    "$python" -c "import $module" 2>/dev/null || {
      echo "  skipped: Python lines that need $module"
      return 0
    }
  done
  "$python" "$1" >output 2>&1 || {
    cat output
    die 1 "the Python lines above failed"
  }
  echo "  $(wc -l <"$1") lines of Python"
}

for document in README.md docs/how-to/*.md; do
  echo "$document"
  lay_out "$document"
  blocks sh "$top/$document" >commands
  run_commands commands
  blocks python "$top/$document" >lines.py
  run_python lines.py
  cd "$top"
done

throng help | sed -n 's|^  \([a-z][a-z]* [a-z][a-z-]*\)  .*|\1|p; s|^  info  .*|info|p' | while IFS= read -r verb; do
  echo "throng $verb --help"
  lay_out "verb $verb"
  # shellcheck disable=SC2086 # one or two words
  throng $verb --help | sed -n '/^Examples:/,$ s/^  \([a-z]\)/\1/p' >commands
  run_commands commands
  cd "$top"
done
