# SPDX-License-Identifier: Apache-2.0
"""Times OpenMM's CPU platform on a GROMACS system with reaction field, on request.

Usage: bench_openmm.py CONF.gro TOPOL.top CUTOFF_NM DT_PS THREADS WARM_UP_STEPS

Builds the system in two ways and reads lines "VARIANT STEPS" from its standard input; each is answered
with one JSON line on its standard output. `throng bench md-cpu` asks, between its own runs.

gromacs   as OpenMM's GROMACS reader builds it. Where the topology combines parameters geometrically
          (comb-rule 3, OPLS), Lennard-Jones becomes a CustomNonbondedForce: the same physics, but a
          compiled formula without OpenMM's SIMD kernel.
native    Lennard-Jones in the NonbondedForce itself, OpenMM's fast path. It knows Lorentz-Berthelot
          combination alone, so pairs of unlike atoms differ a little: the same work, not the same energy.
"""
import json
import sys
import time

import openmm
from openmm import app, unit


def into_native(system):
    """Moves Lennard-Jones out of the reader's custom forces into the NonbondedForce."""
    forces = {force.getName(): force for force in system.getForces()}
    custom, nonbonded = forces.get("LennardJonesForce"), forces["NonbondedForce"]
    if custom is None:  # the reader had no need for it
        return
    for i in range(custom.getNumParticles()):
        root_c12, root_c6 = by_name(custom, custom.getParticleParameters(i))
        charge = nonbonded.getParticleParameters(i)[0]
        nonbonded.setParticleParameters(i, charge, *sigma_epsilon(root_c6**2, root_c12**2))
    pairs = forces.get("LennardJonesExceptions")
    terms = {}
    for b in range(pairs.getNumBonds() if pairs else 0):
        i, j, values = pairs.getBondParameters(b)
        names = [pairs.getPerBondParameterName(k) for k in range(len(values))]
        found = dict(zip(names, values))
        terms[min(i, j), max(i, j)] = sigma_epsilon(found["C"], found["A"])
    for e in range(nonbonded.getNumExceptions()):
        i, j, charges, _, _ = nonbonded.getExceptionParameters(e)
        sigma, epsilon = terms.get((min(i, j), max(i, j)), (1.0, 0.0))
        nonbonded.setExceptionParameters(e, i, j, charges, sigma, epsilon)
    for index in reversed(range(system.getNumForces())):
        if system.getForce(index).getName().startswith("LennardJones"):
            system.removeForce(index)


def by_name(custom, values):
    names = [custom.getPerParticleParameterName(k) for k in range(len(values))]
    found = dict(zip(names, values))
    return found["A"], found["C"]


def sigma_epsilon(c6, c12):
    if c6 == 0 or c12 == 0:
        return 1.0, 0.0
    return (c12 / c6) ** (1 / 6), c6 * c6 / (4 * c12)


def make(variant, configuration, topology, cutoff, dt, threads):
    system = topology.createSystem(
        nonbondedMethod=app.CutoffPeriodic,
        nonbondedCutoff=cutoff * unit.nanometer,
        constraints=app.HBonds,
        rigidWater=True,
        removeCMMotion=False,
    )
    if variant == "native":
        into_native(system)
    for force in system.getForces():
        if isinstance(force, openmm.NonbondedForce):
            force.setReactionFieldDielectric(1e6)  # stands for infinity
            force.setUseDispersionCorrection(False)
    integrator = openmm.VerletIntegrator(dt * unit.picosecond)
    platform = openmm.Platform.getPlatformByName("CPU")
    context = openmm.Context(system, integrator, platform, {"Threads": threads})
    context.setPositions(configuration.positions)
    context.applyConstraints(1e-5)
    context.setVelocitiesToTemperature(300 * unit.kelvin, 1)
    return context, integrator, [force.getName() for force in system.getForces()]


def answer(text):
    print(json.dumps(text), flush=True)


def main():
    conf, top, cutoff, dt, threads, warm_up = sys.argv[1:7]
    configuration = app.GromacsGroFile(conf)
    topology = app.GromacsTopFile(
        top, periodicBoxVectors=configuration.getPeriodicBoxVectors()
    )
    made = {}
    for variant in ("gromacs", "native"):
        made[variant] = make(
            variant, configuration, topology, float(cutoff), float(dt), threads
        )
        made[variant][1].step(int(warm_up))
    answer({"version": openmm.version.full_version})
    for line in sys.stdin:
        variant, steps = line.split()
        context, integrator, forces = made[variant]
        start = time.monotonic()
        integrator.step(int(steps))
        context.getState(getEnergy=True)  # waits until all is computed
        seconds = time.monotonic() - start
        answer({"us_per_step": 1e6 * seconds / int(steps), "forces": forces})


main()
